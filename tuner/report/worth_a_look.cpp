// What someone who was asleep meanwhile should be told first.
#include <fmt/format.h>

#include <algorithm>

#include "tuner/figures.hpp"
#include "tuner/report/page.hpp"

namespace tilesmith::tuner::report {
namespace {

constexpr double kManyFailed = 0.25;
constexpr double kManyLow = 0.02;  // of the readings
constexpr double kBehindPeer = 0.95;

using Notes = std::vector<std::string>;

void about_runs(const Report& report, Notes& notes) {
  const auto elsewhere = [](const RunFigures& run) { return !run.recorded; };
  if (std::any_of(report.selection.runs.begin(), report.selection.runs.end(), elsewhere)) {
    notes.push_back(
        "Some of this is imported: of each candidate its latest measurement alone may be there, which bends "
        "convergence, gains and what another hour is expected to bring.");
  }
  for (const RunFigures& run : report.selection.runs) {
    if (!run.recorded) continue;
    if (run.open()) {
      notes.push_back(fmt::format(
          "Run {} has no end: it is still at work, or was killed. What it measured is kept.", run.run.uuid));
    } else if (run.run.ended_how.rfind("failed", 0) == 0) {
      notes.push_back(fmt::format("Run {} {}", run.run.uuid, run.run.ended_how));
    } else if (run.run.ended_how == "interrupted") {
      notes.push_back(fmt::format("Run {} was interrupted.", run.run.uuid));
    }
  }
}

void about_problems(const Report& report, Notes& notes) {
  if (!report.not_reached.empty())
    notes.push_back(count_that(report.not_reached.size(), "problem", "of the workload was", "of the workload were") +
                    " not reached; they are listed under Problems.");
  const auto count = [&](auto&& is) {
    return std::size_t(std::count_if(report.problems.begin(), report.problems.end(), is));
  };
  if (const std::size_t none = count([](const ProblemFigures& p) { return !p.best; }); none > 0)
    notes.push_back(count_that(none, "problem", "has", "have") + " no time: no candidate passed.");
  const auto is_behind = [](const ProblemFigures& p) {
    return p.peer && p.peer->ratio > 0 && p.peer->ratio < kBehindPeer;
  };
  if (const std::size_t behind = count(is_behind); behind > 0) {
    const auto worst =
        std::min_element(report.problems.begin(), report.problems.end(), [&](const auto& a, const auto& b) {
          return (is_behind(a) ? a.peer->ratio : 1) < (is_behind(b) ? b.peer->ratio : 1);
        });
    notes.push_back(fmt::format("{} below {}× of cuBLASLt, the furthest {} at {}.",
        count_that(behind, "problem", "is", "are"), kBehindPeer, name_of(worst->problem), times(worst->peer->ratio)));
  }
}

void about_failures(const Report& report, Notes& notes) {
  if (report.tried == 0 || report.failures.empty()) return;
  const double share = double(report.failed) / double(report.tried);
  if (share < kManyFailed) return;
  const FailureKind& most = report.failures.front();
  notes.push_back(fmt::format("{:.0f}% of the candidates failed, most of them as {} ({}).", 100 * share,
      db::name(most.status), format_count(most.count)));
}

void about_device(const Report& report, Notes& notes) {
  for (const Telemetry& telemetry : report.telemetry) {
    const std::string device = report.devices.size() > 1 ? " on " + short_name(telemetry.device) : "";
    for (const Series& series : telemetry.series) {
      const double share = double(series.marked) / double(series.readings.size());
      if (series.name == "Drift" ? series.marked == 0 : share < kManyLow) continue;
      notes.push_back(fmt::format("{}{}: {} of {} readings are {}.", series.name, device, format_count(series.marked),
          format_count(series.readings.size()), series.mark));
    }
    if (const std::string arch = db::ran_as(telemetry.device); !arch.empty()) {
      notes.push_back(fmt::format(
          "{} ran the code of {}: this proves the code, its times are of no use there.", telemetry.device.name, arch));
    }
  }
}

}  // namespace

std::vector<std::string> worth_a_look(const Report& report) {
  Notes notes;
  about_runs(report, notes);
  about_problems(report, notes);
  about_failures(report, notes);
  about_device(report, notes);
  if (report.left_out > 0)
    notes.push_back(count_that(report.left_out, "measurement", "is", "are") +
                    " left out: their kernels, compiler options or measuring policy changed since.");
  return notes;
}

}  // namespace tilesmith::tuner::report
