// The fields of what is stored, each once, by the name of its column and of its JSON member.
#pragma once

#include <concepts>
#include <type_traits>

#include "db/store/store.hpp"

namespace tilesmith::db {

template <typename T, typename Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

/// Calls visit(name, field) for each field.
void each_field(Is<DeviceIdentity> auto& device, auto&& visit) {
  visit("name", device.name);
  visit("sm", device.sm);
  visit("sm_count", device.sm_count);
  visit("l2_bytes", device.l2_bytes);
  visit("smem_per_sm_bytes", device.smem_per_sm_bytes);
  visit("bandwidth_class_gbps", device.bandwidth_class_gbps);
  visit("power_mode", device.power_mode);
}

void each_field(Is<Environment> auto& environment, auto&& visit) {
  visit("compiler_options", environment.compiler_options);
  visit("nvrtc_version", environment.nvrtc_version);
  visit("driver_version", environment.driver_version);
  visit("measuring_policy", environment.measuring_policy);
}

/// Those that every time has: of ours, and of the vendor's two together.
template <typename T>
requires Is<T, Timing> || Is<T, VendorTimes>
void each_field_of_sampling(T& times, auto&& visit) {
  visit("samples", times.samples);
  visit("clock_mhz", times.clock_mhz);
  visit("temperature_c", times.temperature_c);
  visit("power_w", times.power_w);
  visit("drift", times.drift);
}

void each_field(Is<Timing> auto& timing, auto&& visit) {
  visit("median_us", timing.median_us);
  visit("spread", timing.spread);
  each_field_of_sampling(timing, visit);
}

/// But for the problem, the config, the device, the environment, the outcome and the id.
void each_field(Is<Record> auto& record, auto&& visit) {
  visit("run", record.run);
  visit("origin", record.origin);
  visit("created_at", record.created_at);
  visit("plan_hash", record.plan_hash);
}

/// But for the problem, the device, the two times, what was beside them and the id.
void each_field(Is<VendorTimes> auto& times, auto&& visit) {
  visit("vendor", times.vendor);
  visit("vendor_version", times.vendor_version);
  visit("driver_version", times.driver_version);
  visit("measuring_policy", times.measuring_policy);
  visit("message", times.message);
  visit("offered", times.offered);
  visit("timed", times.timed);
  each_field_of_sampling(times, visit);
  visit("run", times.run);
  visit("origin", times.origin);
  visit("created_at", times.created_at);
}

/// But for the seed, which is text in the table, and the id.
void each_field(Is<Run> auto& run, auto&& visit) {
  visit("uuid", run.uuid);
  visit("command", run.command);
  visit("workload", run.workload);
  visit("strategy", run.strategy);
  visit("host", run.host);
  visit("started_at", run.started_at);
  visit("ended_at", run.ended_at);
  visit("ended_how", run.ended_how);
}

/// But for the config and the signature.
void each_field(Is<KernelKey> auto& key, auto&& visit) {
  visit("arch", key.arch);
  visit("kernel_hash", key.kernel_hash);
  visit("compiler_options", key.compiler_options);
  visit("nvrtc_version", key.nvrtc_version);
}

/// What the compiler says of the kernel.
void each_field(Is<KernelBuild> auto& build, auto&& visit) {
  visit("registers", build.registers);
  visit("spill_bytes", build.spill_bytes);
  visit("static_smem_bytes", build.static_smem_bytes);
}

}  // namespace tilesmith::db
