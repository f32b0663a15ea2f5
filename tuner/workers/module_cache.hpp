// The modules last loaded, so that a kernel that serves the next problem too is not loaded again.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <utility>

#include "runtime/driver/device.hpp"

namespace tilesmith::tuner {

class ModuleCache {
 public:
  explicit ModuleCache(std::size_t capacity) : capacity_(capacity) {}

  /// Loads the cubin unless one of the same content is still held. Throws runtime::DeviceError.
  std::shared_ptr<const runtime::Module> load(std::span<const std::byte> cubin);

 private:
  using Hash = std::pair<std::uint64_t, std::uint64_t>;
  struct Entry {
    Hash hash;
    std::shared_ptr<const runtime::Module> module;
  };
  std::size_t capacity_;
  std::list<Entry> entries_;  // most recently used first
};

}  // namespace tilesmith::tuner
