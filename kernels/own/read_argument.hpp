// One argument of a kernel of a user's own, and files that kernel.json names.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "kernels/families/user/fields.hpp"
#include "kernels/own/kernel.hpp"

namespace tilesmith::own {

/// A file of the folder that the field names.
std::filesystem::path file_of(const Field& field, const std::filesystem::path& folder);

/// {"x": "f32[n]", "role": "in", "fill": "normal"}, or {"n": "s32", "value": "n"}: the field that is none of the others
/// is the argument's name. `path`: of kernel.json, for errors. Throws DefinitionError.
Argument argument_of(const Field& field, std::span<const ExpressionName> names, const std::string& path,
    const std::filesystem::path& folder);

}  // namespace tilesmith::own
