#include "tuner/workers/module_cache.hpp"

#include <xxhash.h>

#include <algorithm>

namespace tilesmith::tuner {

std::shared_ptr<const runtime::Module> ModuleCache::load(std::span<const std::byte> cubin) {
  const XXH128_hash_t digest = XXH3_128bits(cubin.data(), cubin.size());
  const Hash hash{digest.low64, digest.high64};
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.hash == hash; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front().module;
  }
  auto module = std::make_shared<const runtime::Module>(cubin);
  if (entries_.size() >= capacity_) entries_.pop_back();
  entries_.push_front({hash, module});
  return module;
}

}  // namespace tilesmith::tuner
