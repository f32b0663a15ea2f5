#include "runtime/driver/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "db/store/logger.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/driver/jetson_state.hpp"
#include "runtime/driver/nvml.hpp"

namespace tilesmith::runtime {
namespace {

int rounded_to_two_digits(double value) {
  if (!(value >= 1)) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 1);
  return int(std::lround(std::round(value / unit) * unit));
}

int bandwidth_class_gbps(const auto& attribute, bool integrated) {
  // On a Jetson the attribute is wrong, and its memory's speed follows the power mode, which is part of the identity.
  if (integrated) return 0;
  const double clock_khz = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  const double bus_bits = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  return rounded_to_two_digits(2 * clock_khz * 1e3 * bus_bits / 8 / 1e9);  // two transfers a clock
}

/// The architecture's limits, with what this very device says in place of the table's figures. `arch` is empty if
/// Tilesmith does not support the architecture.
DeviceLimits device_limits(const auto& attribute) {
  const int sm = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                 attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  DeviceLimits limits = limits_for_sm(sm).value_or(DeviceLimits{});
  limits.sm = sm;
  const auto take = [&](int& field, CUdevice_attribute what) {
    if (const int value = attribute(what); value > 0) field = value;
  };
  take(limits.smem_per_block_bytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  take(limits.smem_per_sm_bytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  take(limits.registers_per_sm, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  take(limits.threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  take(limits.threads_per_sm, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  take(limits.blocks_per_sm, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  take(limits.sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  return limits;
}

std::string driver_version_text(const Driver& driver) {
  if (auto version = installed_driver_version(jetson_root())) return *std::move(version);
  if (driver.version == 0) return {};
  return fmt::format("CUDA {}.{}", driver.version / 1000, driver.version % 1000 / 10);
}

int device_count(const Driver& driver) {
  int count = 0;
  check(driver.device_get_count(&count), "cuDeviceGetCount");
  return count;
}

DeviceInfo read_info(const Driver& driver, int ordinal) {
  CUdevice device = 0;
  check(driver.device_get(&device, ordinal), "cuDeviceGet");
  const auto attribute = [&](CUdevice_attribute what) { return attribute_of(driver, device, what); };
  std::array<char, 256> device_name{};
  check(driver.device_get_name(device_name.data(), int(device_name.size()), device), "cuDeviceGetName");

  DeviceInfo info;
  info.ordinal = ordinal;
  info.integrated = attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0;
  info.limits = device_limits(attribute);
  info.identity.name = device_name.data();
  info.identity.sm = info.limits.sm;
  info.identity.sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.identity.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  info.identity.smem_per_sm_bytes = info.limits.smem_per_sm_bytes;
  info.identity.bandwidth_class_gbps = bandwidth_class_gbps(attribute, info.integrated);
  if (info.integrated) info.identity.power_mode = jetson_power_mode();
  info.driver_version = driver_version_text(driver);
  check(driver.device_total_mem(&info.memory_bytes, device), "cuDeviceTotalMem");
  info.clock_mhz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1e3;
  std::array<char, 64> bus_id{};
  if (driver.device_get_pci_bus_id(bus_id.data(), int(bus_id.size()), device) == CUDA_SUCCESS)
    info.pci_bus_id = bus_id.data();
  return info;
}

}  // namespace

std::string device_unavailable_because() {
  if (std::string reason = driver_unavailable_because(); !reason.empty()) return reason;
  const Driver& table = driver();
  int count = 0;
  if (const CUresult result = table.device_get_count(&count); result != CUDA_SUCCESS) {
    return describe(table, result, "cuDeviceGetCount");
  }
  return count > 0 ? std::string() : "the NVIDIA driver reports no device";
}

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> devices;
  try {
    const Driver* table = driver_or_null();
    if (table == nullptr) return devices;
    const int count = device_count(*table);
    for (int ordinal = 0; ordinal < count; ++ordinal) devices.push_back(read_info(*table, ordinal));
  } catch (const std::exception& error) {
    db::logger()->warn("listing devices: {}", error.what());
  }
  return devices;
}

DeviceInfo device_info(int ordinal, std::string_view as) {
  const Driver& table = driver();
  const int count = device_count(table);
  if (ordinal < 0 || ordinal >= count) {
    throw DeviceError(CUDA_ERROR_INVALID_DEVICE,
        count == 0 ? fmt::format("device {}: the NVIDIA driver reports no device", ordinal)
                   : fmt::format("device {}: there are {}, expected 0 to {}", ordinal, count, count - 1));
  }
  DeviceInfo info = read_info(table, ordinal);
  if (info.limits.arch.empty()) {
    throw DeviceError(CUDA_ERROR_INVALID_DEVICE, fmt::format("device {}: {} is sm_{}, expected one of {}", ordinal,
                                                     info.identity.name, info.identity.sm, supported_archs()));
  }
  return as.empty() ? info : device_as(std::move(info), as);
}

std::optional<std::string> as_refusal(const DeviceInfo& device, std::string_view arch) {
  const auto limits = limits_for_arch(arch);
  if (!limits) return fmt::format("is not supported; expected one of {}", supported_archs());
  if (limits->sm > device.limits.sm) {
    return fmt::format(
        "{} is sm_{}; expected an architecture no newer than that", device.identity.name, device.limits.sm);
  }
  if (arch.ends_with('a') && arch != device.limits.arch) {
    return fmt::format("{} is sm_{}, and code for {} runs on sm_{} alone; expected an architecture without 'a'",
        device.identity.name, device.limits.sm, arch, limits->sm);
  }
  return std::nullopt;
}

DeviceInfo device_as(DeviceInfo device, std::string_view arch) {
  if (const auto reason = as_refusal(device, arch)) {
    throw DeviceError(CUDA_ERROR_INVALID_VALUE, fmt::format("device {} as {}: {}", device.ordinal, arch, *reason));
  }
  const DeviceLimits own = device.limits;
  device.identity = db::identity_as(std::move(device.identity), *limits_for_arch(arch));
  device.limits = *virtual_limits(arch);
  // sm_87 may have more shared memory than a later device: what cannot be launched here cannot be proven here.
  device.limits.smem_per_block_bytes = std::min(device.limits.smem_per_block_bytes, own.smem_per_block_bytes);
  return device;
}

Context::Context(int ordinal, std::string_view as) : info_(device_info(ordinal, as)) {
  const Driver& table = driver();
  CUdevice device = 0;
  check(table.device_get(&device, ordinal), "cuDeviceGet");
  check(table.primary_ctx_retain(&context_, device), "cuDevicePrimaryCtxRetain");
  if (const CUresult result = table.ctx_set_current(context_); result != CUDA_SUCCESS) {
    log_if_failed(table.primary_ctx_release(device), "cuDevicePrimaryCtxRelease");
    check(result, "cuCtxSetCurrent");
  }
}

Context::~Context() {
  // It stays current on the threads that made it so: the application may use the primary context too.
  const Driver* table = driver_or_null();
  CUdevice device = 0;
  if (table == nullptr || table->device_get(&device, info_.ordinal) != CUDA_SUCCESS) return;
  log_if_failed(table->primary_ctx_release(device), "cuDevicePrimaryCtxRelease");
}

void Context::make_current() const { check(driver().ctx_set_current(context_), "cuCtxSetCurrent"); }

void Context::make_current_if_possible() const noexcept {
  if (const Driver* table = driver_or_null()) table->ctx_set_current(context_);
}

void Context::synchronize() const { check(driver().ctx_synchronize(), "cuCtxSynchronize"); }

}  // namespace tilesmith::runtime
