// Files in and out. write_file_atomically() is declared in export.hpp.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "db/store/error.hpp"

namespace tilesmith::db {

/// The same for all paths to a file, absolute: links are followed.
std::filesystem::path real_path(const std::filesystem::path& path);

/// The descriptor of this process that the path names (/dev/stdout, /dev/fd/63), through which is written: what the
/// file holds stays.
std::optional<int> own_descriptor(const std::filesystem::path& path);

/// Empty if write_file_atomically() and open_to_append() can write there, by all that can be seen; else why not. Writes
/// nothing.
std::string not_writable_because(const std::filesystem::path& path);

/// nullptr with errno set if it cannot be opened.
std::FILE* open_to_append(const std::filesystem::path& path);

/// What an SQLite database begins with, the terminating zero too.
inline constexpr std::string_view kSqliteMagic("SQLite format 3", 16);

/// The first bytes of a regular file, up to so many, read through SQLite. SQLite's locks are the process's (POSIX):
/// closing a descriptor of our own would drop them, and another process could remove the log into which this one
/// commits. Throws StoreError naming the path.
std::string first_bytes(const std::filesystem::path& path, std::size_t most);

/// The whole file. Throws StoreError naming the path if it is missing, a folder, unreadable, larger than 4 GiB, or an
/// SQLite database where `expected` is wanted.
std::string read_file(const std::filesystem::path& path, std::string_view expected);

bool is_there(const std::filesystem::path& path);
/// Size in bytes, 0 if there is no such file.
std::uintmax_t size_or_zero(const std::filesystem::path& path);
bool writable(const std::filesystem::path& path);
std::filesystem::path folder_of(const std::filesystem::path& path);

/// Of what SQLite keeps beside a database: the log (-wal), its index (-shm), a journal of before. `real`, here and
/// below: the path of no link (real_path()). SQLite follows links too, so that this is what its files lie beside.
std::filesystem::path beside(const std::filesystem::path& real, const char* suffix);
bool has_log(const std::filesystem::path& real);
/// As who named the database can find it.
std::string name_of_log(const std::filesystem::path& path, const std::filesystem::path& real);

}  // namespace tilesmith::db
