// Files in and out. write_file_atomically() is declared in export.hpp.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "db/error.hpp"

namespace tilesmith::db {

/// The same for all paths to a file, absolute: links are followed.
std::filesystem::path real_path(const std::filesystem::path& path);

/// What an SQLite database begins with, the terminating zero too.
inline constexpr std::string_view kSqliteMagic("SQLite format 3", 16);

/// The first bytes of a regular file, up to so many, in a way that is safe for a database that this process has open: SQLite's locks are
/// the process's (POSIX), and whoever closes a descriptor of his own drops them. Another process that closes the database would then
/// take itself for the last one, and remove the log into which this one goes on committing. So it is read through SQLite, which
/// keeps such descriptors until the last connection ends. Throws StoreError naming the path if it cannot be read.
std::string first_bytes(const std::filesystem::path& path, std::size_t most);

/// The whole file. Throws StoreError naming the path if it is missing, a folder, unreadable, larger than 4 GiB, or an SQLite database
/// where `expected` is wanted.
std::string read_file(const std::filesystem::path& path, std::string_view expected);

}  // namespace tilesmith::db
