// The sections of the page, in its order. Each is HTML with all text escaped.
#pragma once

#include <string>
#include <vector>

#include "tuner/report/report.hpp"

namespace tilesmith::tuner::report {

/// What stands out, one sentence each, unescaped: ended badly, much failed, slow clocks, not reached.
std::vector<std::string> worth_a_look(const Report& report);

std::string head_section(const Report& report);      ///< headline, figures, what stands out, the runs
std::string problems_section(const Report& report);  ///< the table
std::string compared_section(const Report& report);  ///< with the bests of another database; empty without one
std::string roofline_section(const Report& report);  ///< a device each; empty where no problem has a time
std::string convergence_section(const Report& report);
std::string device_section(const Report& report);
std::string failures_section(const Report& report);
std::string outlook_section(const Report& report);

}  // namespace tilesmith::tuner::report
