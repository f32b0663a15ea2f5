// The fields of what is stored, each once, by the name of its column and of its JSON member.
#pragma once

#include <concepts>
#include <type_traits>

#include "db/store/store.hpp"

namespace tilesmith::db {

template <typename T, typename Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

/// Calls visit(name, field) for each pair of them.
void visit_all(auto& visit, const char* name, auto& field, auto&... more) {
  visit(name, field);
  if constexpr (sizeof...(more) > 0) visit_all(visit, more...);
}

/// Calls visit(name, field) for each field.
void each_field(Is<DeviceIdentity> auto& device, auto&& visit) {
  visit_all(visit, "name", device.name, "sm", device.sm, "sm_count", device.sm_count, "l2_bytes", device.l2_bytes,
      "smem_per_sm_bytes", device.smem_per_sm_bytes, "bandwidth_class_gbps", device.bandwidth_class_gbps, "power_mode",
      device.power_mode);
}

void each_field(Is<Environment> auto& environment, auto&& visit) {
  visit_all(visit, "compiler_options", environment.compiler_options, "nvrtc_version", environment.nvrtc_version,
      "driver_version", environment.driver_version, "measuring_policy", environment.measuring_policy);
}

/// Those that every time has: of ours, and of the vendor's two together.
template <typename T>
requires Is<T, Timing> || Is<T, VendorTimes>
void each_field_of_sampling(T& times, auto&& visit) {
  visit_all(visit, "samples", times.samples, "clock_mhz", times.clock_mhz, "temperature_c", times.temperature_c,
      "power_w", times.power_w, "drift", times.drift);
}

void each_field(Is<Timing> auto& timing, auto&& visit) {
  visit_all(visit, "median_us", timing.median_us, "spread", timing.spread);
  each_field_of_sampling(timing, visit);
}

/// But for the problem, the config, the device, the environment, the outcome and the id.
void each_field(Is<Record> auto& record, auto&& visit) {
  visit_all(visit, "run", record.run, "origin", record.origin, "created_at", record.created_at, "plan_hash",
      record.plan_hash);
}

/// But for the problem, the device, the two times, what was beside them and the id.
void each_field(Is<VendorTimes> auto& times, auto&& visit) {
  visit_all(visit, "vendor", times.vendor, "vendor_version", times.vendor_version, "driver_version",
      times.driver_version, "measuring_policy", times.measuring_policy, "message", times.message, "offered",
      times.offered, "timed", times.timed);
  each_field_of_sampling(times, visit);
  visit_all(visit, "run", times.run, "origin", times.origin, "created_at", times.created_at);
}

/// But for the seed, which is text in the table, and the id.
void each_field(Is<Run> auto& run, auto&& visit) {
  visit_all(visit, "uuid", run.uuid, "command", run.command, "workload", run.workload, "strategy", run.strategy, "host",
      run.host, "started_at", run.started_at, "ended_at", run.ended_at, "ended_how", run.ended_how);
}

/// But for the config and the signature.
void each_field(Is<KernelKey> auto& key, auto&& visit) {
  visit_all(visit, "arch", key.arch, "kernel_hash", key.kernel_hash, "compiler_options", key.compiler_options,
      "nvrtc_version", key.nvrtc_version);
}

/// What the compiler says of the kernel.
void each_field(Is<KernelBuild> auto& build, auto&& visit) {
  visit_all(visit, "registers", build.registers, "spill_bytes", build.spill_bytes, "static_smem_bytes",
      build.static_smem_bytes);
}

}  // namespace tilesmith::db
