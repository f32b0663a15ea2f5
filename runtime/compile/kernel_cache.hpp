// Kernels that NVRTC compiled for this user, kept on disk, so that each is compiled once and not in every process.
//
// One file holds one kernel. Its name is a hash of the key and the NVRTC that compiled it. A file is written under
// another name and then renamed, so a reader sees whole files only, and a checksum tells a damaged one.
//
// Hazard: what is in the folder runs on the device. The folder is made for its user alone (0700), and is not used if it
// belongs to another user or if others may write to it.
// Errors: nothing throws for what the file system does. What cannot be read is a miss, what cannot be written is not
// kept. A folder that must not be used and a damaged file are one line in the log each.
// Threads: any number, of any number of processes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tilesmith::runtime {

/// What $TILESMITH_CACHE asks for: an absolute folder, which is made if it is missing, or "off". If it is not set:
/// tilesmith/kernels below $XDG_CACHE_HOME, else below ~/.cache. Empty: no cache. A value that cannot be used is one
/// line in the log.
std::filesystem::path kernel_cache_folder();

class KernelCache {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{512} << 20;

  /// `folder`: empty: nothing is kept and nothing is found. It is made when the first kernel is kept. `most_bytes`: of
  /// all files together. It may be exceeded by a sixteenth for each process that writes, because files are counted only
  /// every so often; those that were used longest ago are then removed.
  explicit KernelCache(std::filesystem::path folder, std::uint64_t most_bytes = kMostBytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes), uncounted_bytes_(most_bytes) {}

  struct Kernel {
    std::string nvrtc_version;
    std::vector<std::byte> cubin;
  };

  /// `key`: a text of everything that decides the machine code, apart from the NVRTC. `nvrtc_version`: "13.0"; empty:
  /// any one's whose kernels a driver of this CUDA version (12040) loads, the newest first.
  std::optional<Kernel> find(const std::string& key, const std::string& nvrtc_version, int driver_version) const;

  /// Whether there is a file for it, which find() may still refuse.
  bool has(const std::string& key, const std::string& nvrtc_version) const;

  void keep(const std::string& key, const std::string& nvrtc_version, std::span<const std::byte> cubin);

 private:
  class Descriptor;
  Descriptor open_folder() const;
  std::optional<Kernel> read(const Descriptor& folder, const std::string& name, const std::string& key) const;
  void remove_oldest(const Descriptor& folder) const;

  const std::filesystem::path folder_;
  const std::uint64_t most_bytes_;
  std::atomic<std::uint64_t> uncounted_bytes_;    ///< written since the files were counted
  mutable std::atomic<bool> was_refused_{false};  ///< the folder, which was logged
};

}  // namespace tilesmith::runtime
