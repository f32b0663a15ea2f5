// The report as one HTML page that needs nothing besides itself.
#pragma once

#include <string>
#include <string_view>

#include "tuner/report/report.hpp"

namespace tilesmith::tuner::report {

/// page.css and page.js, embedded at build time.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

std::string page_of(const Report& report);
/// What the page says first: everything in one sentence or two.
std::string headline(const Report& report);

}  // namespace tilesmith::tuner::report
