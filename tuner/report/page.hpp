// The report as one HTML page that needs nothing besides itself, and its sections.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/report/report.hpp"
#include "tuner/svg.hpp"

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

// Words and cells that the sections share.

/// "f16f32 NN 4096×4096×1024", and what differs from a packed problem.
std::string name_of(const Problem& problem);

/// "1.42×"; "-" if not above 0.
std::string times(double ratio);

/// A moment for people, its exact text beside it for programs: <time datetime="..">2026-01-31 23:59</time>.
std::string moment(double seconds);

inline std::string escaped(std::string_view text) { return svg::escaped(text); }

/// Cells of tables. `sort` is what the column is sorted by; kNoNumber: nothing, last in every order.
inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
std::string text_cell(std::string_view text, std::string_view css_class = "");
std::string number_cell(std::string_view text, double sort, std::string_view css_class = "");
std::string us_cell(double us, std::string_view css_class = "");

/// The header of a table's column.
std::string header(std::string_view text, bool number = false, std::string_view title = "");

/// A box that scrolls sideways; `label` names it for those who hear the page.
std::string scrolling(const std::string& content, std::string_view label);
/// A table in such a box. `attributes`: its own, such as class="sortable".
std::string scrolling_table(
    const std::string& head, const std::string& rows, std::string_view label, std::string_view attributes = "");

/// "1 problem has", "12 problems have".
std::string count_that(std::size_t count, const std::string& noun, const char* one_does, const char* several_do);

}  // namespace tilesmith::tuner::report
