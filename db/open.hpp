// Opens database files: what is checked before SQLite touches a file, and how it is then opened.
#pragma once

#include <filesystem>

#include "db/sqlite.hpp"

namespace tilesmith::db {

/// Opens for writing: creates a missing file, migrates an older one. Throws StoreError, the file untouched, if it is
/// a folder, no SQLite database, of another program, of a newer schema, corrupt, or not writable.
Database open_for_writing(const std::filesystem::path& path);

/// Opens for reading, an older schema as it is. Throws StoreError as above, and if the file is missing.
Database open_for_reading(const std::filesystem::path& path);

Database open_in_memory();

}  // namespace tilesmith::db
