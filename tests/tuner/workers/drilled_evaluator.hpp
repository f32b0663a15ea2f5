// Evaluators whose measuring process plays a device, and candidates that fail in every way there is.
#pragma once

#include <chrono>
#include <optional>

#include "tests/catch.hpp"
#include "tests/gpu/drill_family.hpp"
#include "tests/tuner/fictional_device.hpp"
#include "tuner/workers/device_evaluator.hpp"

namespace tilesmith::tests {

inline tuner::DeviceEvaluatorOptions options_for(int device = 0) {
  tuner::DeviceEvaluatorOptions options;
  options.device = device;
  options.compile_processes = 2;
  options.time_limit = std::chrono::milliseconds(700);
  options.compile_limit = std::chrono::seconds(20);
  options.postpone_for = std::chrono::milliseconds(50);
  options.worker_executable = TILESMITH_TUNER_CHILD;
  return options;
}

inline Problem drill_problem(std::int64_t m = 32) { return packed_problem({*find_type_pair("f64f64"), {}}, m, 32, 32); }

inline db::Outcome evaluate(
    tuner::Evaluator& evaluator, test::DrillKind kind, const Problem& problem = drill_problem()) {
  evaluator.submit({problem, test::drill_config(kind)}, std::nullopt);
  const tuner::Evaluated evaluated = evaluator.next();
  CHECK(evaluated.candidate.config == test::drill_config(kind));
  CHECK(evaluator.in_flight() == 0);
  return evaluated.outcome;
}

}  // namespace tilesmith::tests
