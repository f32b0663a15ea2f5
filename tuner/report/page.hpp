// The report as one HTML page that needs nothing besides itself, and its sections.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tuner/report/report.hpp"

namespace tilesmith::tuner::report {

/// page.css and page.js, embedded at build time.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

std::string page_of(const Report& report);
/// What the page says first: everything in one sentence or two.
std::string headline(const Report& report);

// The sections, in the order of the page. Each is HTML with all text escaped.
/// What stands out, one sentence each, unescaped: ended badly, much failed, slow clocks, not reached.
std::vector<std::string> worth_a_look(const Report& report);

std::string head_section(const Report& report);      ///< headline, figures, what stands out, the runs
std::string problems_section(const Report& report);  ///< the table
std::string kernels_section(const Report& report);   ///< of kernels of one's own; empty without any
std::string compared_section(const Report& report);  ///< with the bests of another database; empty without one
std::string roofline_section(const Report& report);  ///< a device each; empty where no problem has a time
std::string convergence_section(const Report& report);
std::string device_section(const Report& report);
std::string failures_section(const Report& report);
std::string outlook_section(const Report& report);

}  // namespace tilesmith::tuner::report
