#include "runtime/interface/kernel_loader.hpp"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "kernels/families/plan_hash.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/compile/find_nvrtc.hpp"
#include "runtime/compile/kernel_cache.hpp"
#include "runtime/compile/kernel_symbols.hpp"
#include "runtime/driver/driver.hpp"

namespace tilesmith::runtime {
namespace {

/// NVRTC itself failed: the next time it may not.
struct CompilerFailed : Error {
  explicit CompilerFailed(const Error& error) : Error(error) {}
};

/// Throws DeviceError.
LoadedKernel loaded(const db::KernelBuild& build, std::string source) {
  try {
    return {std::make_shared<const Module>(build.cubin), build.key.nvrtc_version, std::move(source), false,
        tilesmith::is_of_kernel(build.key.signature) ? kernel_symbols(build.cubin) : std::vector<std::string>()};
  } catch (const DeviceError& error) {
    const std::string too_new =
        is_of_kernel(error.code()) ? too_new_for_driver(build.key.nvrtc_version, driver().version) : std::string();
    if (too_new.empty()) throw;
    throw DeviceError(error.code(), fmt::format("{}; {}", error.what(), too_new));
  }
}

/// All that decides the machine code but the NVRTC, for the cache.
std::string cache_key(const db::KernelKey& key) {
  return fmt::format("{}\n{}\n{}\n{}", key.config.text(), key.signature, key.compiler_options, key.kernel_hash);
}

/// A kernel among those of one device.
std::string name_of(const db::KernelKey& key) { return fmt::format("{} {}", key.signature, key.config.text()); }

}  // namespace

bool KernelLoader::can_compile() const { return allow_compile_ && nvrtc_unavailable_because().empty(); }

PlanByConfig KernelLoader::plan(const Config& config, const Problem& problem, const KernelTarget& target,
    const std::string& nvrtc_version, bool may_compile) {
  std::optional<Plan> plan;
  PlanByConfig found = with_kernel(kernel_key(config, target, nvrtc_version), target.limits, may_compile,
      [&](const LoadedKernel& kernel) { plan.emplace(kernel.module, config, problem); });
  found.plan = std::move(plan);
  return found;
}

PlanByConfig KernelLoader::with_kernel(const db::KernelKey& key, const DeviceLimits& limits, bool may_compile,
    const std::function<void(const LoadedKernel& kernel)>& make) {
  const std::string name = name_of(key);
  if (const auto refused = refused_.find(name); refused != refused_.end())
    return {.code = refused->second.code, .why_not = refused->second.why};
  auto known = kernels_.find(name);
  const bool is_new = known == kernels_.end();
  try {
    if (is_new) known = kernels_.emplace(name, load(key, limits, may_compile)).first;
    const LoadedKernel& kernel = known->second;
    make(kernel);
    return {.kernel = kernel, .compiled_now = is_new && kernel.compiled};
  } catch (const DeviceError& error) {
    if (!is_of_kernel(error.code())) throw;
    if (known == kernels_.end()) refused_.insert({name, {ErrorCode::device_failed, error.what()}});
    return {.code = ErrorCode::device_failed, .why_not = error.what()};
  } catch (const CompilerFailed& error) {
    return {.why_not = error.what(), .compiler_failed = true};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_kernel) throw;
    refused_.insert({name, {error.code(), error.what()}});
    return {.why_not = error.what()};
  }
}

std::optional<LoadedKernel> KernelLoader::loaded_or_refused(
    const db::KernelBuild& build, const char* what, std::string& why) const {
  const std::string& nvrtc = build.key.nvrtc_version;
  try {
    return loaded(build, fmt::format("{} cubin (NVRTC {})", what, nvrtc));
  } catch (const DeviceError& error) {
    if (!is_of_kernel(error.code())) throw;
    why = fmt::format("the {} cubin does not load ({})", what, error.what());
    return std::nullopt;
  }
}

std::optional<LoadedKernel> KernelLoader::cached(const db::KernelKey& key, std::string& why) const {
  if (keeps_builds_ || key.kernel_hash.empty()) return std::nullopt;
  auto kernel = cache_.find(cache_key(key), can_compile() ? nvrtc_version() : std::string(), driver().version);
  if (!kernel) return std::nullopt;
  db::KernelBuild build;
  build.key = key;
  build.key.nvrtc_version = kernel->nvrtc_version;
  build.cubin = std::move(kernel->cubin);
  return loaded_or_refused(build, "cached", why);
}

std::optional<KernelLoader::CompileTask> KernelLoader::compile_later(
    const Config& config, const KernelTarget& target, const std::string& nvrtc_version) {
  const db::KernelKey key = kernel_key(config, target, nvrtc_version);
  const std::string name = name_of(key);
  if (!can_compile() || kernels_.contains(name) || refused_.contains(name) || tasks_.contains(name))
    return std::nullopt;
  if (catalogue_.find_build(key, driver().version)) return std::nullopt;
  if (!keeps_builds_ && cache_.has(cache_key(key), runtime::nvrtc_version())) return std::nullopt;
  CompileTask task([config, target] { return compile(config, target); });
  tasks_.emplace(name, task.get_future());
  return task;
}

db::KernelBuild KernelLoader::compiled(const db::KernelKey& key, const DeviceLimits& limits) {
  auto task = tasks_.extract(name_of(key));
  try {
    if (!task.empty()) return task.mapped().get();
  } catch (const std::bad_alloc&) {     // alone it may have enough
  } catch (const std::future_error&) {  // the task was not run
  }
  return compile(key.config, key.signature, limits);
}

LoadedKernel KernelLoader::load(const db::KernelKey& key, const DeviceLimits& limits, bool may_compile) {
  std::string stored_failed = "no cubin is stored";
  if (const auto build = catalogue_.find_build(key, driver().version)) {
    if (auto kernel = loaded_or_refused(*build, "stored", stored_failed)) return *std::move(kernel);
  }
  if (auto kernel = cached(key, stored_failed)) return *std::move(kernel);
  const auto no_kernel = [&](const std::string& why) {
    return Error(ErrorCode::no_kernel, fmt::format("no kernel for {} {} on {}: {}, and {}", key.config.text(),
                                           key.signature, limits.arch, stored_failed, why));
  };
  if (!allow_compile_) throw no_kernel("compiling is switched off");
  const std::string unavailable = nvrtc_unavailable_because();
  if (!unavailable.empty()) throw no_kernel(unavailable);
  if (!may_compile) throw CompilerFailed(no_kernel("the compiler failed before"));
  db::KernelBuild build;
  try {
    build = compiled(key, limits);
  } catch (const std::runtime_error& error) {
    throw CompilerFailed(no_kernel(error.what()));
  }
  if (build.cubin.empty()) throw no_kernel("it does not compile: " + build.message);
  if (!build.key.kernel_hash.empty()) cache_.keep(cache_key(build.key), build.key.nvrtc_version, build.cubin);
  LoadedKernel kernel = loaded(build, fmt::format("compiled by NVRTC {}", build.key.nvrtc_version));
  kernel.compiled = true;
  if (keeps_builds_) kernel.build = std::make_shared<const db::KernelBuild>(std::move(build));
  return kernel;
}

}  // namespace tilesmith::runtime
