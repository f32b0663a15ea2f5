// Records of families that this process does not know: of one's own (kernels/families/user) that were not loaded, or of another build.
// It is kept, listed and passed over.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "db/store/record.hpp"

namespace tilesmith::db {

/// Names, each once, in alphabetical order.
std::vector<std::string> families_not_loaded(std::span<const Record> entries);

/// One line that names them and what brings them; empty for none.
std::string not_loaded_text(const std::vector<std::string>& families);

}  // namespace tilesmith::db
