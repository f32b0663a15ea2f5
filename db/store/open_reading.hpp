// Ways to open a database for reading alone: with SQLite's locks and its files, or without. Nothing is checked here:
// open_for_reading() does that. `path` names the database in errors, `real` is the path of no link.
#pragma once

#include <filesystem>

#include "db/files/file_system.hpp"
#include "db/store/sqlite.hpp"

namespace tilesmith::db {

/// Reads the file as it is, without its log, as if nobody could change it.
Database open_immutable(const std::filesystem::path& path, const std::filesystem::path& real);

/// In the first way that goes for this user and the place that it lies in. `of_wal`: whether the file's header says so.
/// Throws StoreError if a writer's files are beside it in a file system of a network, where neither they nor their
/// locks can be trusted.
Database open_in_some_way(
    const std::filesystem::path& path, const std::filesystem::path& real, bool of_wal, const AskFileSystem& ask);

}  // namespace tilesmith::db
