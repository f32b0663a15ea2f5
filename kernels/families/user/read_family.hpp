// Reads a family of one's own from its folder. docs/own_family.md explains the fields.
#pragma once

#include <filesystem>
#include <memory>

#include "kernels/families/user/family_error.hpp"
#include "kernels/families/user/user_family.hpp"

namespace tilesmith {

/// From `folder`/family.json and the template that it names. All is checked here. Throws FamilyError naming file and
/// field.
std::unique_ptr<UserFamily> read_family(const std::filesystem::path& folder);

}  // namespace tilesmith
