// The modules last loaded, so that a kernel that serves the next task too is not loaded again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <span>
#include <string>

#include "kernels/base/content_hash.hpp"
#include "runtime/driver/device.hpp"

namespace tilesmith::tuner {

class ModuleCache {
 public:
  /// Loads the cubin unless one of the same content is still held. Throws runtime::DeviceError.
  std::shared_ptr<const runtime::Module> load(std::span<const std::byte> cubin) {
    const std::string hash = content_hash(cubin);
    const auto found = std::ranges::find(entries_, hash, &Entry::hash);
    if (found != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, found);
      return entries_.front().module;
    }
    auto module = std::make_shared<const runtime::Module>(cubin);
    if (entries_.size() >= kModulesHeld) entries_.pop_back();
    entries_.push_front({hash, module});
    return module;
  }

 private:
  static constexpr std::size_t kModulesHeld = 64;
  struct Entry {
    std::string hash;
    std::shared_ptr<const runtime::Module> module;
  };
  std::list<Entry> entries_;  // most recently used first
};

}  // namespace tilesmith::tuner
