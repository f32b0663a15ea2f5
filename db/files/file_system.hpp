// What file system a database lies in. SQLite needs locks and shared memory, which file systems of a network do not
// give reliably: hosts that write together lose entries and corrupt indexes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tilesmith::db {

struct FileSystem {
  std::int64_t magic = 0;  ///< f_type of statfs(2); 0: not known
  std::string type;        ///< as mounted, "fuse.sshfs", which tells apart what shares a magic; empty: not known
};

/// The name of a file system that other hosts may write too ("NFS", "fuse.sshfs"); nullopt: none, or not known to be
/// one.
std::optional<std::string_view> network_name(const FileSystem& system);

/// That of a file or folder that is there.
FileSystem file_system_of(const std::filesystem::path& path);

/// How to ask for it: tests give an answer of their own.
using AskFileSystem = std::function<FileSystem(const std::filesystem::path&)>;

}  // namespace tilesmith::db
