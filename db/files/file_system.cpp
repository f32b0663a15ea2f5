#include "db/files/file_system.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <utility>

namespace tilesmith::db {
namespace {

constexpr std::int64_t kFuse = 0x65735546;

/// From linux/magic.h and, of those that the kernel's own tree lacks, from their sources and statfs(2).
constexpr std::array<std::pair<std::int64_t, std::string_view>, 19> kNetwork{{{0x6969, "NFS"}, {0x517b, "SMB"},
    {0xff534d42, "CIFS"}, {0xfe534d42, "SMB2"}, {0x564c, "NCP"}, {0x01021997, "9p"}, {0x0bd00bd0, "Lustre"},
    {0x47504653, "GPFS"}, {0x00c36400, "Ceph"}, {0x5346414f, "AFS"}, {0x6b414653, "AFS"}, {0x73757245, "Coda"},
    {0x19830326, "BeeGFS"}, {0xaad7aaea, "PanFS"}, {0x20030528, "OrangeFS"}, {0x01161970, "GFS2"},
    {0x7461636f, "OCFS2"}, {0x786f4256, "VirtualBox shared folder"}, {0xbacbacbc, "VMware shared folder"}}};

/// All of FUSE have one magic; others of it are of this host alone (ntfs-3g, fuse-overlayfs, ...).
constexpr std::array<std::string_view, 15> kNetworkFuse{"fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse",
    "fuse.cephfs", "fuse.juicefs", "fuse.s3fs", "fuse.rclone", "fuse.davfs", "fuse.gcsfuse", "fuse.moosefs", "fuse.mfs",
    "fuse.lizardfs", "fuse.goofys", "virtiofs"};

/// "dev" of mountinfo(5): field 3; the type stands behind the separator "-".
std::string mounted_type(dev_t device) {
  const std::string wanted = fmt::format("{}:{}", ::major(device), ::minor(device));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string field, id, parent, dev;
    fields >> id >> parent >> dev;
    if (dev != wanted) continue;
    while (fields >> field && field != "-") {
    }
    if (fields >> field) return field;
  }
  return {};
}

}  // namespace

std::optional<std::string_view> network_name(const FileSystem& system) {
  const std::int64_t magic = system.magic & 0xffffffff;  // 32 bits, which some machines extend by their sign
  if (magic == kFuse) {
    const auto known = std::find(kNetworkFuse.begin(), kNetworkFuse.end(), system.type);
    return known == kNetworkFuse.end() ? std::nullopt : std::optional(*known);
  }
  for (const auto& [of_network, name] : kNetwork) {
    if (magic == of_network) return name;
  }
  return std::nullopt;
}

FileSystem file_system_of(const std::filesystem::path& path) {
  struct statfs system {};
  if (::statfs(path.c_str(), &system) != 0) return {};
  FileSystem result{std::int64_t(system.f_type), {}};
  struct stat status {};
  if ((result.magic & 0xffffffff) == kFuse && ::stat(path.c_str(), &status) == 0)
    result.type = mounted_type(status.st_dev);
  return result;
}

}  // namespace tilesmith::db
