// The kernels of a bundle that is being made: from the database if it has them, else compiled.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "db/store/store.hpp"
#include "kernels/families/family.hpp"

namespace tilesmith::tuner {

/// Thread-safe.
class BundleKernels {
 public:
  enum class Spilled { taken, refused };

  /// `store` may be null, and must outlive it.
  explicit BundleKernels(const db::Store* store);

  /// Gets the kernel, once. Empty if it is there; else why not.
  std::string add(const Config& config, const KernelTarget& target, Spilled spilled = Spilled::taken);
  /// The same for any task.
  std::string add(const Config& config, const Task& task, const DeviceLimits& limits);
  bool has(const Config& config, const KernelTarget& target) const;

  std::size_t compiled_count() const { return compiled_; }
  /// All kernels, by type pair, transposes and config. It has none from then on.
  std::vector<db::KernelBuild> take();

 private:
  std::string add(const db::KernelKey& key, const DeviceLimits& limits, Spilled spilled);
  std::optional<db::KernelBuild> stored(const db::KernelKey& key) const;

  const db::Store* store_;
  std::string nvrtc_missing_;
  mutable std::mutex mutex_;  // guards the store and all below
  std::map<std::string, db::KernelBuild> builds_;
  std::size_t compiled_ = 0;
};

/// What the vendor took beside these entries, each row once.
std::vector<db::VendorTimes> vendor_beside(const db::Store& store, const std::vector<db::Record>& bests);

}  // namespace tilesmith::tuner
