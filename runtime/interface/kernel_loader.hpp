// Plans by one config each: its kernel loaded from the catalogue or from the cache on disk, or compiled. Kernels are
// kept, and so is why one cannot be had.
//
// Threads: one at a time (Library holds a lock). The context must be current.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/choose/catalogue.hpp"
#include "runtime/compile/kernel_cache.hpp"
#include "runtime/interface/gemm.hpp"
#include "runtime/plan/plan.hpp"

namespace tilesmith::runtime {

struct LoadedKernel {
  std::shared_ptr<const Module> module;
  std::string nvrtc_version;
  std::string source;  ///< as in Explanation::kernel
  bool compiled = false;
  std::vector<std::string> symbols = {};  ///< of a user's own kernel: what kernel_symbols() finds in it
  std::shared_ptr<const db::KernelBuild> build = nullptr;  ///< if it was compiled here, and builds are kept
};

/// A plan with its kernel, or why there is none.
struct PlanByConfig {
  std::optional<Plan> plan = std::nullopt;
  LoadedKernel kernel = {};
  bool compiled_now = false;
  ErrorCode code = ErrorCode::no_kernel;
  std::string why_not = "";
  bool compiler_failed = false;  ///< NVRTC itself failed, which says nothing about the config
};

class KernelLoader {
 public:
  /// The catalogue and the cache must outlive it. `keeps_builds`: for a trial database, which takes a kernel with all
  /// that NVRTC said of it; the cache, which has the cubin alone, is then not read.
  KernelLoader(const Catalogue& catalogue, KernelCache& cache, bool allow_compile, bool keeps_builds)
      : catalogue_(catalogue), cache_(cache), allow_compile_(allow_compile), keeps_builds_(keeps_builds) {}

  /// `nvrtc_version`: the one to prefer among stored kernels. Throws DeviceError if the device failed in another way
  /// than by refusing the kernel.
  PlanByConfig plan(const Config& config, const Problem& problem, const KernelTarget& target,
      const std::string& nvrtc_version = "", bool may_compile = true);
  /// The same for launches of any kind, without a plan: `make` gets the kernel, if there is one. It may throw as Plan
  /// does.
  PlanByConfig with_kernel(const db::KernelKey& key, const DeviceLimits& limits, bool may_compile,
      const std::function<void(const LoadedKernel& kernel)>& make);
  bool can_compile() const;

  /// Compiles one kernel, on any thread, without the loader. Never throws.
  using CompileTask = std::packaged_task<db::KernelBuild()>;
  /// The compilation that plan() would begin with, if it has to compile at all and nobody has taken the task yet. Until
  /// the task was run, plan() waits for it.
  std::optional<CompileTask> compile_later(
      const Config& config, const KernelTarget& target, const std::string& nvrtc_version = "");

  /// Unloads all, while the context is current.
  void clear() { kernels_.clear(); }

 private:
  struct NoKernel {
    ErrorCode code;
    std::string why;
  };
  /// Waits for the task of compile_later() if there is one. Throws as compile().
  db::KernelBuild compiled(const db::KernelKey& key, const DeviceLimits& limits);
  LoadedKernel load(const db::KernelKey& key, const DeviceLimits& limits, bool may_compile);
  /// Nothing, and `why` says why, if the device refuses the kernel.
  std::optional<LoadedKernel> loaded_or_refused(const db::KernelBuild& build, const char* what, std::string& why) const;
  std::optional<LoadedKernel> cached(const db::KernelKey& key, std::string& why) const;

  const Catalogue& catalogue_;
  KernelCache& cache_;
  const bool allow_compile_, keeps_builds_;
  std::map<std::string, LoadedKernel> kernels_;                // by signature and config
  std::map<std::string, NoKernel> refused_;                    // likewise
  std::map<std::string, std::future<db::KernelBuild>> tasks_;  // likewise: compiled by others, not yet loaded
};

}  // namespace tilesmith::runtime
