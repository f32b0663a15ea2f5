// Kernel Tuner's own strategies, run by its Python package in its simulation mode, for `tilesmith simulate`.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/cli/output/simulation_report.hpp"

namespace tilesmith::tuner {

extern const std::string_view kKernelTunerScript;  ///< kernel_tuner.py

/// The strategies that `given` names, joined by commas; "all": those worth comparing. Throws UsageError if `python`, a
/// program's name or path, does not have the package, or the package no such strategy.
std::vector<std::string> kernel_tuner_strategies(const std::string& python, const std::string& given);

/// Each strategy on the table, in a process of its own, on all cores, with the seeds that our strategies have. What it
/// evaluated is then replayed, so that the same code judges both. The curve of a strategy that fails is empty, and one
/// line is logged. Scores are left at 0. `on_run` is called after each run with the strategy's name, on one thread at a
/// time. Precondition: the table has one family.
std::vector<SimulatedStrategy> simulate_kernel_tuner(const OutcomeTable& table, const std::vector<std::string>& names,
    const std::string& python, const SimulationOptions& options, const std::atomic<bool>& stop,
    const std::function<void(std::string_view)>& on_run);

}  // namespace tilesmith::tuner
