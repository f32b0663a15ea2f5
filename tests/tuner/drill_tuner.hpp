// A tuner over the drill family and a device that is played: problems enough to be killed in, each with every way to
// fail.
#pragma once

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>

#include "db/store/store.hpp"
#include "tests/gpu/drill_family.hpp"
#include "tests/tuner/fictional_device.hpp"
#include "tuner/loop/tune.hpp"
#include "tuner/workers/device_evaluator.hpp"

namespace tilesmith::tests {

constexpr int kDrillTunerN = 48;
constexpr int kDrillTunerTimingUs = 4000;
constexpr int kDrillTunerFailed = 1;
constexpr std::chrono::milliseconds kDrillTunerTimeLimit{1500}, kDrillTunerCompileLimit{6000};

inline tuner::Workload drill_workload(int problems) {
  tuner::Workload workload;
  workload.name = "drill";
  for (int i = 1; i <= problems; ++i)
    workload.tasks.push_back({packed_problem({*find_type_pair("f64f64"), {}}, 16 * i, kDrillTunerN, 32), 1.0});
  return workload;
}

/// Tunes to the end; resumes what an earlier one left. `file_bytes` > 0: no file of this process may grow beyond that,
/// as if the disk were full.
inline int tune_drill(const char* database, int problems, int file_bytes) {
  if (file_bytes > 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{rlim_t(file_bytes), rlim_t(file_bytes)};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  try {
    db::Store store = db::Store::open(database);
    tuner::DeviceEvaluatorOptions options;
    options.compile_processes = 2;
    options.time_limit = kDrillTunerTimeLimit;
    options.compile_limit = kDrillTunerCompileLimit;
    const auto evaluator = tuner::make_device_evaluator(store, options, fictional_device());
    tuner::TuneOptions tune;
    tune.strategy = "exhaustive";
    tune.families = {"drill"};
    tune.finalists = 1;
    const std::atomic<bool> never{false};
    tuner::tune(drill_workload(problems), tune, *evaluator, store, {}, never);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kDrillTunerFailed;
  }
}

}  // namespace tilesmith::tests
