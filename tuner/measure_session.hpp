// What the measuring process does with one candidate: load, battery, verify, time. No process or protocol in here.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "db/evidence.hpp"
#include "runtime/device.hpp"

namespace tilesmith::tuner {

class MeasureSession {
 public:
  explicit MeasureSession(const runtime::Context& context);
  ~MeasureSession();

  struct Job {
    Problem problem;
    Config config;
    std::vector<std::byte> cubin;
    bool battery_passed = false;  ///< known from the store: not repeated
    double incumbent_us = 0;
  };
  struct Result {
    db::Outcome outcome;
    bool battery_passed = false;
    bool context_lost = false;    ///< the process must end now; the outcome is device_fault
  };
  Result evaluate(const Job& job);

  /// Interleaved timing of candidates that evaluate() already found right.
  std::vector<db::Outcome> play_off(const Problem& problem, std::span<const Job> finalists);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilesmith::tuner
