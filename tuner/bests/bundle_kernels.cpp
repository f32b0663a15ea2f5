#include "tuner/bests/bundle_kernels.hpp"

#include <fmt/format.h>

#include <utility>

#include "runtime/compile/compiler.hpp"

namespace tilesmith::tuner {
namespace {

bool loads(const std::optional<db::KernelBuild>& build, BundleKernels::Spilled spilled) {
  if (!build || build->cubin.empty()) return false;
  return build->status == db::Status::ok ||
         (build->status == db::Status::spilled && spilled == BundleKernels::Spilled::taken);
}

std::string id_of(const Config& config, const std::string& signature) {
  return fmt::format("{} {}", signature, config.text());
}

}  // namespace

BundleKernels::BundleKernels(const db::Store* store)
    : store_(store), nvrtc_missing_(runtime::nvrtc_unavailable_because()) {}

std::string BundleKernels::add(const Config& config, const KernelTarget& target, Spilled spilled) {
  return add(runtime::kernel_key(config, target, ""), target.limits, spilled);
}

std::string BundleKernels::add(const Config& config, const Task& task, const DeviceLimits& limits) {
  return add(runtime::kernel_key(config, task, limits, ""), limits, Spilled::taken);
}

std::string BundleKernels::add(const db::KernelKey& key, const DeviceLimits& limits, Spilled spilled) {
  const std::string id = id_of(key.config, key.signature);
  std::optional<db::KernelBuild> build;
  {
    const std::lock_guard lock(mutex_);
    if (builds_.contains(id)) return {};
    build = stored(key);
  }
  if (!loads(build, spilled)) {
    if (!nvrtc_missing_.empty())
      return fmt::format("not in the database, and it cannot be compiled: {}", nvrtc_missing_);
    build = runtime::compile(key.config, key.signature, limits);
    const std::lock_guard lock(mutex_);
    ++compiled_;
  }
  if (!loads(build, spilled)) return build->message;
  const std::lock_guard lock(mutex_);
  builds_.emplace(id, *std::move(build));
  return {};
}

bool BundleKernels::has(const Config& config, const KernelTarget& target) const {
  const std::lock_guard lock(mutex_);
  return builds_.contains(id_of(config, text(target.signature())));
}

std::vector<db::KernelBuild> BundleKernels::take() {
  std::vector<db::KernelBuild> all;
  for (auto& [id, build] : builds_) all.push_back(std::move(build));
  builds_.clear();
  return all;
}

std::optional<db::KernelBuild> BundleKernels::stored(const db::KernelKey& key) const {
  if (store_ == nullptr) return std::nullopt;
  db::KernelKey of_today = key;
  if (nvrtc_missing_.empty()) of_today.nvrtc_version = runtime::nvrtc_version();
  if (auto build = nvrtc_missing_.empty() ? store_->find_build(of_today) : std::nullopt; loads(build, Spilled::taken))
    return build;
  return store_->find_build_any_compiler(key.config, key.signature, key.arch, key.kernel_hash);
}

std::vector<db::VendorTimes> vendor_beside(const db::Store& store, const std::vector<db::Record>& bests) {
  const db::VendorIndex index(store.vendor_times());
  std::map<std::int64_t, const db::VendorTimes*> found;
  for (const db::Record& best : bests) {
    if (const db::VendorTimes* beside = index.beside(best)) found[beside->id] = beside;
  }
  std::vector<db::VendorTimes> rows;
  for (auto at = found.rbegin(); at != found.rend(); ++at) rows.push_back(*at->second);  // the newest first
  return rows;
}

}  // namespace tilesmith::tuner
