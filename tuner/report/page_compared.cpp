// What became of another database's bests in this one: a picture, and a table of what is not the same.
#include <fmt/format.h>

#include "tuner/figures.hpp"
#include "tuner/report/charts.hpp"
#include "tuner/report/page.hpp"

namespace tilesmith::tuner::report {
namespace {

std::string_view css_of(Change change) {
  if (change == Change::slower || change == Change::stale || change == Change::gone) return "bad";
  return change == Change::faster || change == Change::added ? "good" : "quiet";
}

std::string row_of(std::size_t index) { return fmt::format("c{}", index); }

std::string picture(const Comparison& comparison) {
  Scatter chart;
  chart.title = "A's time over B's, over A's time, of each problem";
  chart.x_title = "A, µs";
  chart.y_title = "A/B: above 1 B is faster";
  chart.y_unit = "×";
  double low = 0, high = 0;
  for (std::size_t i = comparison.problems.size(); i-- > 0;) {  // what is told first lies above
    const ComparedProblem& one = comparison.problems[i];
    if (!(one.speedup() > 0)) continue;
    low = low > 0 ? std::min(low, one.a_us()) : one.a_us();
    high = std::max(high, one.a_us());
    chart.dots.push_back({one.a_us(), one.speedup(), std::string(css_of(one.change)),
        fmt::format("{}: {} to {} µs, {}", name_of(one.problem), format_us(one.a_us()), format_us(one.b_us()),
            times(one.speedup())),
        row_of(i)});
  }
  if (chart.dots.empty()) return {};
  chart.lines.push_back({{{low / 1.05, 1}, {high * 1.05, 1}}, "base", "", 0});
  return scrolling(scatter(chart), "A's time over B's of each problem");
}

std::string config_text(const ComparedProblem& one) {
  const std::string a = one.a ? one.a->record.config.text() : "-", b = one.b ? one.b->record.config.text() : "-";
  return a == b ? b : a + " → " + b;
}

std::string compared_row(const ComparedProblem& one, std::size_t index) {
  std::string row = fmt::format(R"(<tr id="{}">)", row_of(index));
  row += text_cell(name(one.change), css_of(one.change));
  row += fmt::format(R"(<th scope="row">{}</th>)", escaped(name_of(one.problem)));
  row += text_cell(short_name(one.device()));
  row += us_cell(one.a_us()) + us_cell(one.b_us());
  row += number_cell(one.speedup() > 0 ? fmt::format("{:.3f}", one.speedup()) : "-",
      one.speedup() > 0 ? one.speedup() : kNoNumber, css_of(one.change));
  row += number_cell(fmt::format("±{:.1f}%", 100 * one.noise), one.noise);
  row += text_cell(one.a ? one.a->trust : "-") + text_cell(one.b ? one.b->trust : "-");
  return row + text_cell(config_text(one), "code") + "</tr>\n";
}

}  // namespace

std::string compared_section(const Report& report) {
  if (!report.options.against) return {};
  const Comparison& comparison = *report.options.against;
  std::string rows;
  for (std::size_t i = 0; i < comparison.problems.size(); ++i) rows += compared_row(comparison.problems[i], i);
  const std::string text = fmt::format(
      "<p>A is <code>{}</code>, B <code>{}</code>. {}.</p>\n<p>Of each side counts what would run today; where nothing "
      "would, the fastest on record. Stale: B has times, none of which counts today. Unlike: the measuring policies "
      "differ, so that the times do not compare. Differences within noise are the same.</p>\n{}",
      escaped(report.options.against_name), escaped(report.options.database), escaped(words_of(comparison)),
      picture(comparison));
  if (rows.empty()) return text;
  const std::string head = header("change") + header("problem") + header("device") + header("A µs", true) +
                           header("B µs", true) + header("A/B", true) + header("noise", true) + header("A's trust") +
                           header("B's trust") + header("config");
  return text + scrolling_table(head, rows, "Problems compared", R"(class="sortable" id="compared-table")");
}

}  // namespace tilesmith::tuner::report
