// Claims: processes that share a database say which problem they are about to tune, on which kind of device, so that
// no two tune the same one at a time.
//
// A claim is a lock on one byte of an empty file beside the database (tuned.db-claims); device and problem say which
// byte. The operating system keeps it and drops it with its process, however that ends: killed, crashed or with the machine, so
// a claim is never stale. The file stays behind, empty. As the database, it must be on a disk with working locks,
// shared by one machine.
//
// Errors: StoreError, one line, if the file cannot be opened or locked. Threads: Claims may be used by any.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "db/store/evidence.hpp"
#include "db/store/store.hpp"

namespace tilesmith::db {

/// Holds what was claimed until its end.
class [[nodiscard]] Claim {
 public:
  ~Claim();
  Claim(Claim&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Claim& operator=(Claim&& other) noexcept;

 private:
  friend class Claims;
  explicit Claim(int fd) : fd_(fd) {}
  int fd_;  // its lock belongs to this descriptor alone; -1: nobody else can see what was claimed
};

class Claims {
 public:
  /// A store in memory is seen by nobody else: all that is claimed is then granted.
  explicit Claims(const Store& store);
  /// nullopt while somebody has it: another process, or another Claim of this one. Does not wait.
  std::optional<Claim> take(const DeviceIdentity& device, const Problem& problem) const;
  /// The same for anything that has a name of its own.
  std::optional<Claim> take(std::string_view name) const;

 private:
  std::filesystem::path database_;  // empty: in memory
};

}  // namespace tilesmith::db
