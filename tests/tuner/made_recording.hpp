// A small made-up recording of an H200: what the command-line tests replay, export and import.
#pragma once

#include <string>
#include <vector>

#include "db/exchange/recording.hpp"
#include "db/store/store.hpp"
#include "kernels/families/space.hpp"
#include "runtime/compile/compiler.hpp"
#include "tuner/measure/stopwatch.hpp"

namespace tilesmith::tests {

inline db::DeviceIdentity made_device() {
  db::DeviceIdentity device;
  device.name = "NVIDIA H200";
  device.sm = 90;
  device.sm_count = 132;
  device.l2_bytes = 62914560;
  device.smem_per_sm_bytes = 233472;
  device.bandwidth_class_gbps = 4900;
  return device;
}

inline db::Environment made_environment(const KernelTarget& target) {
  db::Environment environment;
  environment.compiler_options = runtime::compiler_options_text(target);
  environment.nvrtc_version = "13.0";
  environment.driver_version = "580.65";
  environment.measuring_policy = tuner::kMeasuringPolicy;
  return environment;
}

/// `count` legal simt configs for each problem; config i takes 10 + i µs, but every fifth is a mismatch.
inline std::vector<db::Record> made_record(const std::vector<Problem>& problems, std::size_t count) {
  std::vector<db::Record> entries;
  for (const Problem& problem : problems) {
    const KernelTarget target{problem, *limits_for_arch("sm_90a")};
    const Family& family = *find_family("simt");
    std::size_t made = 0;
    for (const Config& config : enumerate_space(family, target).configs) {
      if (made == count) break;
      if (family.refusal(config, problem)) continue;
      db::Record entry;
      entry.task = problem;
      entry.config = config;
      entry.device = made_device();
      entry.environment = made_environment(target);
      entry.plan_hash = plan_hash(config, problem, entry.environment.compiler_options);
      if (made % 5 == 4) {
        entry.outcome = {db::Status::mismatch, "suite: C[0,1] is 7, expected 9", {}};
      } else {
        db::Timing timing;
        timing.median_us = 10 + double(made);
        timing.spread = 0.01;
        timing.samples = 30;
        timing.clock_mhz = 1755;
        entry.outcome = {db::Status::ok, "", timing};
      }
      entry.run = "5c0d6f6e-0000-4000-8000-000000000001";
      entry.origin = "made-host";
      entry.created_at = "2026-01-31T12:00:00.000Z";
      entries.push_back(entry);
      ++made;
    }
  }
  return entries;
}

inline std::vector<Problem> made_problems() {
  return {packed_problem({*find_type_pair("f16f32"), {}}, 256, 256, 256),
      packed_problem({*find_type_pair("s8s32"), {false, true}}, 128, 256, 512)};
}

inline void fill(db::Store& store) {
  for (const db::Record& entry : made_record(made_problems(), 8)) store.record(entry);
}

inline void make_database(const std::string& path) {
  db::Store store = db::Store::open(path);
  fill(store);
}

inline void make_recording(const std::string& path) {
  db::Store store = db::Store::in_memory();
  fill(store);
  db::save_recording(store, {}, path);
}

/// The workload of made_problems(), as options.
inline std::string made_workload() { return "f16f32 NN 256 256 256\ns8s32 NT 128 256 512 2\n"; }

}  // namespace tilesmith::tests
