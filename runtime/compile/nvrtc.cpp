#include "runtime/compile/nvrtc.hpp"

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <stdexcept>

#include "runtime/compile/compiler.hpp"
#include "runtime/compile/find_nvrtc.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/driver/shared_library.hpp"

namespace tilesmith::runtime {
namespace {

std::atomic<const Nvrtc*> replacement{nullptr};

/// Takes the functions and the version from an open library; says what is wrong with it otherwise.
std::optional<std::string> fill(const SharedLibrary& library, Nvrtc& out) {
  const char* missing = nullptr;
  const auto resolve = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.symbol(symbol));
    if (function == nullptr && missing == nullptr) missing = symbol;
  };
#define TILESMITH_RESOLVE(name, symbol, result, parameters) resolve(out.name, symbol);
  TILESMITH_NVRTC_FUNCTIONS(TILESMITH_RESOLVE)
#undef TILESMITH_RESOLVE
  if (missing != nullptr) return fmt::format("has no function {}", missing);
  if (out.version(&out.major, &out.minor) != 0) return "does not tell its version";
  if (out.major < kOldestNvrtcMajor) {
    return fmt::format("is NVRTC {}.{}, expected {}.0 or later", out.major, out.minor, kOldestNvrtcMajor);
  }
  out.file = file_of_address(reinterpret_cast<const void*>(out.version));
  return std::nullopt;
}

FoundNvrtc open_candidate(const std::string& candidate) {
  FoundNvrtc opened;
  opened.library = SharedLibrary::open(candidate, opened.problem);
  if (!opened.library) return opened;
  if (const auto wrong = fill(opened.library, opened.nvrtc)) opened.problem = fmt::format("{} {}", candidate, *wrong);
  return opened;
}

FoundNvrtc load() {
  // Any address of this code tells which file it is in.
  static const char own_address = 0;
  const CudaPlaces places = usual_cuda_places(file_of_address(&own_address));
  FoundNvrtc found =
      find_nvrtc(places, open_candidate, {installed_cuda_version, [] { return device_unavailable_because().empty(); }});
  found.library.keep_open();
  return found;
}

const FoundNvrtc& loaded_once() {
  // Never destroyed: a compiling thread may outlive main().
  static const FoundNvrtc* loaded = new FoundNvrtc(load());
  return *loaded;
}

}  // namespace

const Nvrtc& nvrtc() {
  if (const Nvrtc* table = replacement.load(std::memory_order_acquire)) return *table;
  const FoundNvrtc& loaded = loaded_once();
  if (!loaded.problem.empty()) throw std::runtime_error(loaded.problem);
  return loaded.nvrtc;
}

std::string nvrtc_unavailable_because() {
  if (replacement.load(std::memory_order_acquire) != nullptr) return {};
  return loaded_once().problem;
}

std::string nvrtc_too_old_because(const DeviceLimits& limits) {
  const int oldest = limits.oldest_nvrtc;
  if (1000 * nvrtc().major + 10 * nvrtc().minor >= oldest) return {};
  return fmt::format("NVRTC {} is too old for {}: expected {}.{} or later", nvrtc_version(), limits.arch, oldest / 1000,
      oldest % 1000 / 10);
}

std::string nvrtc_unfit_because(const DeviceLimits& limits) {
  std::string reason = nvrtc_unavailable_because();
  if (reason.empty()) reason = nvrtc_too_old_because(limits);
  return reason.empty() ? too_new_for_driver(nvrtc_version(), installed_cuda_version()) : reason;
}

std::string nvrtc_version() { return fmt::format("{}.{}", nvrtc().major, nvrtc().minor); }

ScopedNvrtc::ScopedNvrtc(const Nvrtc& table) : former_(replacement.exchange(&table)) {}
ScopedNvrtc::~ScopedNvrtc() { replacement.store(former_); }

}  // namespace tilesmith::runtime
