// Small multiples of best time over evaluations, in groups, each with its large chart behind it.
#include <fmt/format.h>

#include <algorithm>

#include "tuner/figures.hpp"
#include "tuner/report/charts.hpp"
#include "tuner/report/page.hpp"

namespace tilesmith::tuner::report {
namespace {

constexpr std::size_t kMostOpen = 40;  // more problems than these are folded away, but for the first group

std::string group_of(const Report& report, const ProblemFigures& problem) {
  const std::string type(problem.problem.type.name);
  return report.devices.size() > 1 ? fmt::format("{}, {}", type, short_name(problem.device)) : type;
}

std::string baseline_words(const ProblemFigures& problem) {
  if (problem.baseline.kind == Baseline::Kind::none) return "none";
  const bool known = problem.baseline.kind == Baseline::Kind::known;
  return fmt::format(
      "{} µs, {}", format_us(problem.baseline.us), known ? "known before" : "the first candidate that passed");
}

std::string fact(std::string_view term, const std::string& text) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escaped(term), escaped(text));
}

std::string facts(const ProblemFigures& problem) {
  const db::Timing& timing = *problem.best->outcome.timing;
  std::string text = R"(<dl class="facts">)";
  text += fact("best", fmt::format("{} µs ±{:.1f}%, {}", format_us(timing.median_us), 100 * timing.spread,
                           count_of(std::size_t(std::max(0, timing.samples)), "sample")));
  text += fact("config", problem.best->config.text());
  text += fact("baseline", baseline_words(problem));
  text += fact("tried",
      fmt::format("{}, {} failed; {} in {}", count_of(problem.tried, "candidate"), format_count(problem.failed),
          count_of(problem.evaluations, "measurement"), format_seconds(problem.seconds)));
  text += fact("found", problem.best_is_new ? fmt::format("as evaluation {}", problem.best_found_after) : "before");
  return text + "</dl>\n";
}

std::string panel(const ProblemFigures& problem, std::size_t index, double top) {
  const std::string figures =
      problem.best
          ? fmt::format("{} µs · {}", format_us(problem.best->outcome.timing->median_us), times(problem.gain()))
          : fmt::format("{} failed", problem.failed);
  const std::string summary =
      fmt::format(R"(<summary><span class="name">{}</span>{}<span class="figures">{}</span></summary>)",
          escaped(name_of(problem.problem)), small_convergence(problem, top), escaped(figures));
  const std::string inside =
      problem.best
          ? scrolling(large_convergence(problem), "Convergence of " + name_of(problem.problem)) + facts(problem)
          : "<p>No candidate passed; see the failures below.</p>";
  return fmt::format("<details class=\"panel\" id=\"p{}\">{}\n{}</details>\n", index, summary, inside);
}

std::string group_summary(const std::string& name, const std::vector<const ProblemFigures*>& group) {
  std::vector<double> gains;
  for (const ProblemFigures* problem : group) gains.push_back(problem->gain());
  const Mean gain = geometric_mean(gains);
  return fmt::format("<summary><strong>{}</strong> {}{}</summary>\n", escaped(name), count_of(group.size(), "problem"),
      gain.count > 0 ? fmt::format(", gain {} on average", times(gain.value)) : "");
}

}  // namespace

std::string convergence_section(const Report& report) {
  if (report.problems.empty()) return "<p>There is nothing to show.</p>\n";
  const double top = common_top(report.problems);
  std::string text = fmt::format(
      "<p>Each small chart shows the best time so far over evaluations, both logarithmic: from the best time now (grey "
      "line) up to {} of it, the same scale in all. Open one for its times in µs: dots are single evaluations, red "
      "ticks are failures, the dashed line is what was known before, and the last doubling of evaluations is shaded. A "
      "best may rise where a final benchmark times a lucky winner again.</p>\n",
      times(top));
  for (std::size_t first = 0; first < report.problems.size();) {
    const std::string name = group_of(report, report.problems[first]);
    std::vector<const ProblemFigures*> group;
    std::string panels;
    std::size_t end = first;
    for (; end < report.problems.size() && group_of(report, report.problems[end]) == name; ++end) {
      group.push_back(&report.problems[end]);
      panels += panel(report.problems[end], end, top);
    }
    const bool open = report.problems.size() <= kMostOpen || first == 0;
    text += fmt::format("<details class=\"group\"{}>{}<div class=\"panels\">\n{}</div></details>\n",
        open ? " open" : "", group_summary(name, group), panels);
    first = end;
  }
  return text;
}

}  // namespace tilesmith::tuner::report
