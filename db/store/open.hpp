// Opens database files: what is checked before SQLite touches a file, and how it is then opened.
#pragma once

#include <filesystem>

#include "db/files/file_system.hpp"
#include "db/store/sqlite.hpp"

namespace tilesmith::db {

/// Opens for writing, and creates a missing file. Throws StoreError, the file untouched, if it is a folder, no SQLite
/// database, of another program, of another schema version, corrupt, not writable, or in a file system of a network.
Database open_for_writing(const std::filesystem::path& path, const AskFileSystem& ask = file_system_of);

/// Opens for reading. Throws StoreError as above, and if the file is missing. In a file system of a network it is read
/// without locks, and refused while a writer's log or journal is beside it.
Database open_for_reading(const std::filesystem::path& path, const AskFileSystem& ask = file_system_of);

Database open_in_memory();

// The two ways below check nothing: open_for_reading() does that. `path` names the database in errors, `real` is the
// path of no link.

/// Reads the file as it is, without its log, as if nobody could change it.
Database open_immutable(const std::filesystem::path& path, const std::filesystem::path& real);

/// In the first way that goes for this user and the place that it lies in. `of_wal`: whether the file's header says so.
/// Throws StoreError if a writer's files are beside it in a file system of a network, where neither they nor their
/// locks can be trusted.
Database open_in_some_way(
    const std::filesystem::path& path, const std::filesystem::path& real, bool of_wal, const AskFileSystem& ask);

}  // namespace tilesmith::db
