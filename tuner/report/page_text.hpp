// Words and cells that the sections of the page share.
#pragma once

#include <string>
#include <string_view>

#include "kernels/problem/problem.hpp"
#include "tuner/svg.hpp"

namespace tilesmith::tuner::report {

/// "f16f32 NN 4096×4096×1024", and what differs from a packed problem.
std::string name_of(const Problem& problem);

/// "1.42×"; "-" if not above 0.
std::string times(double ratio);

/// A moment for people, its exact text beside it for programs: <time datetime="..">2026-01-31 23:59</time>.
std::string moment(double seconds);

inline std::string escaped(std::string_view text) { return svg::escaped(text); }

/// Cells of tables. `sort` is what the column is sorted by; NaN: there is none, last in every order.
std::string text_cell(std::string_view text, std::string_view css_class = "");
std::string number_cell(std::string_view text, double sort, std::string_view css_class = "");

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
