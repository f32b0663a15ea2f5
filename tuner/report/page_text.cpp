#include "tuner/report/page.hpp"

#include <fmt/format.h>

#include <cmath>

#include "tuner/figures.hpp"

namespace tilesmith::tuner::report {
namespace {

std::string class_attribute(std::string_view css_class) {
  return css_class.empty() ? "" : fmt::format(R"( class="{}")", css_class);
}

}  // namespace

std::string name_of(const Problem& problem) {
  return fmt::format("{} {} {}×{}×{}{}", problem.type.name, name(problem.trans), problem.m, problem.n, problem.k,
      extras_text(problem));
}

std::string times(double ratio) {
  if (!(ratio > 0)) return "-";
  return fmt::format("{:.{}f}×", ratio, ratio < 10 ? 2 : 1);
}

std::string moment(double seconds) {
  return fmt::format(R"(<time datetime="{}">{}</time>)", utc_text(seconds), utc_minutes(seconds));
}

std::string text_cell(std::string_view text, std::string_view css_class) {
  return fmt::format("<td{}>{}</td>", class_attribute(css_class), escaped(text));
}

std::string number_cell(std::string_view text, double sort, std::string_view css_class) {
  const std::string classes = css_class.empty() ? "n" : fmt::format("n {}", css_class);
  return fmt::format(R"(<td class="{}" data-v="{}">{}</td>)", classes,
      std::isfinite(sort) ? fmt::format("{:.10g}", sort) : "", escaped(text));
}

std::string us_cell(double us, std::string_view css_class) {
  return number_cell(format_us(us), us > 0 ? us : kNoNumber, css_class);
}

std::string header(std::string_view text, bool number, std::string_view title) {
  return fmt::format(R"(<th scope="col"{}{}>{}</th>)", number ? R"( class="n")" : "",
      title.empty() ? "" : fmt::format(R"( title="{}")", escaped(title)), escaped(text));
}

std::string scrolling(const std::string& content, std::string_view label) {
  return fmt::format(
      "<div class=\"scroll\" role=\"region\" aria-label=\"{}\" tabindex=\"0\">{}</div>\n", escaped(label), content);
}

std::string scrolling_table(
    const std::string& head, const std::string& rows, std::string_view label, std::string_view attributes) {
  return scrolling(fmt::format("<table{}{}>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table>",
                       attributes.empty() ? "" : " ", attributes, head, rows),
      label);
}

std::string count_that(std::size_t count, const std::string& noun, const char* one_does, const char* several_do) {
  return count_of(count, noun) + " " + (count == 1 ? one_does : several_do);
}

}  // namespace tilesmith::tuner::report
