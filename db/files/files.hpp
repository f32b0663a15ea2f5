// Files in and out. write_file_atomically() is declared in export.hpp.
#pragma once

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "db/store/error.hpp"

namespace tilesmith::db {

/// The same for all paths to a file, absolute: links are followed.
std::filesystem::path real_path(const std::filesystem::path& path);

/// The descriptor of this process that the path names: /dev/stdout, /dev/fd/63, a link to one. What is written there goes through
/// the descriptor, so that what stands in the file already, and its place in it, are kept.
std::optional<int> own_descriptor(const std::filesystem::path& path);

/// Empty if write_file_atomically() and open_to_append() can write there, by all that can be seen; else why not. Writes nothing.
std::string not_writable_because(const std::filesystem::path& path);

/// nullptr with errno set if it cannot be opened.
std::FILE* open_to_append(const std::filesystem::path& path);

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
