// A database's file, and what SQLite keeps beside it: the log (-wal), its index (-shm), a journal of before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tilesmith::db {

bool is_there(const std::filesystem::path& path);
/// Size in bytes, 0 if there is no such file.
std::uintmax_t size_or_zero(const std::filesystem::path& path);
bool writable(const std::filesystem::path& path);
std::filesystem::path folder_of(const std::filesystem::path& path);

/// `real`, here and below: the path of no link (real_path()). SQLite follows links too, so that this is what its files lie beside.
std::filesystem::path beside(const std::filesystem::path& real, const char* suffix);
bool has_log(const std::filesystem::path& real);
/// As who named the database can find it.
std::string name_of_log(const std::filesystem::path& path, const std::filesystem::path& real);

}  // namespace tilesmith::db
