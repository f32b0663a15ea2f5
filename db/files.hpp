// Whole files in and out. write_file_atomically() is declared in export.hpp.
#pragma once

#include <filesystem>
#include <string>

#include "db/error.hpp"

namespace tilesmith::db {

/// The whole file. Throws StoreError naming the path if it is missing, a folder, unreadable, or larger than 4 GiB.
std::string read_file(const std::filesystem::path& path);

}  // namespace tilesmith::db
