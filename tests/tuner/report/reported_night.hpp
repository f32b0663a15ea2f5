// Reports of made-up nights.
#pragma once

#include <string>
#include <utility>

#include "tests/tuner/report/made_night.hpp"
#include "tuner/report/report.hpp"

namespace tilesmith::tests {

inline tuner::report::Report report_of(
    const MadeNight& night, const std::string& wanted = "latest", tuner::report::ReportOptions options = {}) {
  using namespace tuner::report;
  return make_report(night.entries, matching_runs(runs_of(night.entries, night.runs), wanted), std::move(options));
}

}  // namespace tilesmith::tests
