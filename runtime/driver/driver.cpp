#include "runtime/driver/driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "db/store/logger.hpp"
#include "runtime/driver/shared_library.hpp"

namespace tilesmith::runtime {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

struct Loaded {
  Driver table;
  std::string problem;  // empty if usable
  int code = 0;         // the CUresult behind the problem
};

std::atomic<const Driver*> replacement{nullptr};

/// cuGetProcAddress in either of its forms: R525 and later export both, with different signatures.
class ProcAddress {
 public:
  explicit ProcAddress(const SharedLibrary& library)
      : second_(reinterpret_cast<Second>(library.symbol("cuGetProcAddress_v2"))),
        first_(reinterpret_cast<First>(library.symbol("cuGetProcAddress"))) {}

  explicit operator bool() const { return second_ != nullptr || first_ != nullptr; }

  void* find(const char* symbol) const {
    void* address = nullptr;
    const CUresult result = second_ != nullptr ? second_(symbol, &address, kOldestDriverVersion, kLegacyStream, nullptr)
                                               : first_(symbol, &address, kOldestDriverVersion, kLegacyStream);
    return result == CUDA_SUCCESS ? address : nullptr;
  }

 private:
  using First = CUresult (*)(const char*, void**, int, cuuint64_t);
  using Second = CUresult (*)(const char*, void**, int, cuuint64_t, void* query_result);
  static constexpr cuuint64_t kLegacyStream = 1;  // CU_GET_PROC_ADDRESS_LEGACY_STREAM

  Second second_;
  First first_;
};

/// What to do about a code that says more of the machine than of the call; by number, as below.
const char* advice_on(int code) {
  switch (code) {
    case 802:
      return "; GPUs behind NVSwitch need their fabric manager: `systemctl start nvidia-fabricmanager`, and its log if that fails";
    case 803:
      return "; the kernel module and libcuda are of different drivers: restart the machine, or use one driver's libcuda";
    case 804:
      return "; this libcuda is newer than the kernel module, which only data-center GPUs allow: install the newer driver";
    default: return "";
  }
}

Loaded failed(int code, std::string problem) { return {{}, std::move(problem), code}; }

Loaded load_driver() {
  std::string error;
  SharedLibrary library = SharedLibrary::open(kLibrary, error);
  if (!library) return failed(CUDA_ERROR_NOT_INITIALIZED, fmt::format("no NVIDIA driver: {}", error));
  const ProcAddress proc_address(library);
  if (!proc_address) {
    return failed(
        CUDA_ERROR_NOT_FOUND, fmt::format("{} has no cuGetProcAddress: its driver is older than CUDA 12.0", kLibrary));
  }
  Loaded loaded;
  Driver& table = loaded.table;
  std::string missing;
  const auto resolve = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(proc_address.find(symbol));
    if (function == nullptr && missing.empty()) missing = symbol;
  };
#define TILESMITH_RESOLVE(name, symbol, parameters) resolve(table.name, symbol);
  TILESMITH_DRIVER_FUNCTIONS(TILESMITH_RESOLVE)
#undef TILESMITH_RESOLVE
  library.keep_open();

  if (table.driver_get_version != nullptr && table.driver_get_version(&table.version) == CUDA_SUCCESS &&
      table.version < kOldestDriverVersion) {
    return failed(
        CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, fmt::format("the NVIDIA driver supports CUDA {}.{}, expected 12.0 or later",
                                               table.version / 1000, table.version % 1000 / 10));
  }
  if (!missing.empty()) return failed(CUDA_ERROR_NOT_FOUND, fmt::format("{} has no function {}", kLibrary, missing));
  if (const CUresult result = table.init(0); result != CUDA_SUCCESS) {
    return failed(result, describe(table, result, "cuInit"));
  }
  return loaded;
}

const Loaded& loaded_once() {
  static const Loaded loaded = load_driver();
  return loaded;
}

}  // namespace

const Driver& driver() {
  if (const Driver* table = replacement.load(std::memory_order_acquire)) return *table;
  const Loaded& loaded = loaded_once();
  if (!loaded.problem.empty()) throw DeviceError(loaded.code, loaded.problem);
  return loaded.table;
}

const Driver* driver_or_null() noexcept {
  try {
    if (const Driver* table = replacement.load(std::memory_order_acquire)) return table;
    const Loaded& loaded = loaded_once();
    return loaded.problem.empty() ? &loaded.table : nullptr;
  } catch (...) {
    return nullptr;  // out of memory while composing the reason
  }
}

std::string driver_unavailable_because() {
  if (replacement.load(std::memory_order_acquire) != nullptr) return {};
  return loaded_once().problem;
}

int installed_cuda_version() noexcept {
  try {
    std::string error;
    SharedLibrary library = SharedLibrary::open(kLibrary, error);
    const auto version_of = reinterpret_cast<CUresult (*)(int*)>(library.symbol("cuDriverGetVersion"));
    int version = 0;
    const bool known = version_of != nullptr && version_of(&version) == CUDA_SUCCESS;
    library.keep_open();  // as load_driver() does
    return known ? version : 0;
  } catch (...) {
    return 0;  // out of memory
  }
}

int attribute_of(const Driver& driver, CUdevice device, CUdevice_attribute what) noexcept {
  int value = 0;
  return driver.device_get_attribute(&value, what, device) == CUDA_SUCCESS ? value : 0;
}

std::string describe(const Driver& driver, CUresult result, const std::string& call) {
  const char* error_name = nullptr;
  const char* meaning = nullptr;
  if (driver.get_error_name != nullptr) driver.get_error_name(result, &error_name);
  if (driver.get_error_string != nullptr) driver.get_error_string(result, &meaning);
  return fmt::format("{}: {} ({}){}", call, error_name != nullptr ? error_name : fmt::format("error {}", int(result)),
      meaning != nullptr ? meaning : "unknown to this driver", advice_on(result));
}

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  throw DeviceError(result, describe(driver(), result, call));
}

void log_if_failed(CUresult result, const char* call) noexcept {
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED) return;
  try {
    const Driver* table = driver_or_null();
    const auto level = is_context_lost(result) ? spdlog::level::debug : spdlog::level::warn;
    db::logger()->log(level, "{}", describe(table != nullptr ? *table : Driver{}, result, call));
  } catch (...) {
    // A destructor has nobody to tell.
  }
}

bool DeviceError::context_lost() const { return is_context_lost(code_); }

bool DeviceError::out_of_memory() const { return code_ == CUDA_ERROR_OUT_OF_MEMORY; }

bool is_context_lost(int code) noexcept {
  // By number, as below: some of these names are newer than the oldest header we build with.
  constexpr std::array kLost{
      214,  // ECC_UNCORRECTABLE
      220,  // NVLINK_UNCORRECTABLE
      226,  // CONTAINED
      700,  // ILLEGAL_ADDRESS
      702,  // LAUNCH_TIMEOUT
      709,  // CONTEXT_IS_DESTROYED
      710,  // ASSERT
      714,  // HARDWARE_STACK_ERROR
      715,  // ILLEGAL_INSTRUCTION
      716,  // MISALIGNED_ADDRESS
      717,  // INVALID_ADDRESS_SPACE
      718,  // INVALID_PC
      719,  // LAUNCH_FAILED
      721,  // TENSOR_MEMORY_LEAK
      999,  // UNKNOWN: nothing is known to be sound after it
  };
  return std::find(kLost.begin(), kLost.end(), code) != kLost.end();
}

bool is_of_kernel(int code) noexcept {
  constexpr std::array kOfKernel{
      1,    // INVALID_VALUE: a grid, a cluster or shared memory that the device does not have
      200,  // INVALID_IMAGE
      209,  // NO_BINARY_FOR_GPU
      218,  // INVALID_PTX
      221,  // JIT_COMPILER_NOT_FOUND: the image is PTX
      222,  // UNSUPPORTED_PTX_VERSION
      223,  // JIT_COMPILATION_DISABLED
      300,  // INVALID_SOURCE
      500,  // NOT_FOUND: the image lacks a kernel
      701,  // LAUNCH_OUT_OF_RESOURCES
      801,  // NOT_SUPPORTED
      912,  // INVALID_CLUSTER_SIZE
  };
  return std::find(kOfKernel.begin(), kOfKernel.end(), code) != kOfKernel.end();
}

ScopedDriver::ScopedDriver(const Driver& table) : former_(replacement.exchange(&table)) {}
ScopedDriver::~ScopedDriver() { replacement.store(former_); }

}  // namespace tilesmith::runtime
