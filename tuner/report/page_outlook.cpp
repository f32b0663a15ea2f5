// What another hour would go to, and how that is reckoned.
#include <fmt/format.h>

#include <cmath>

#include "tuner/figures.hpp"
#include "tuner/report/page.hpp"

namespace tilesmith::tuner::report {
namespace {

std::string row_of(const Report& report, std::size_t index) {
  const ProblemFigures& problem = report.problems[index];
  const ProblemOutlook& look = report.outlook.problems[index];
  const double n = double(problem.convergence.best_us.size());
  const double now = problem.best ? problem.best->outcome.timing->median_us : 0;
  std::string row = "<tr>";
  if (report.devices.size() > 1) row += text_cell(short_name(problem.device));
  row += fmt::format(R"(<th scope="row"><a href="#p{}">{}</a></th>)", index, escaped(name_of(problem.problem)));
  row += number_cell(fmt::format("{:g}", problem.weight), problem.weight) + number_cell(format_count(n), n);
  if (look.prospect == Prospect::gains) {
    row += number_cell(fmt::format("{:.1f}%", 100 * (1 - std::exp(-look.last_doubling))), look.last_doubling);
  } else {
    row += number_cell("too few to tell", 0, "quiet");
  }
  row += number_cell(look.minutes < 1 ? "<1" : fmt::format("{:.0f}", look.minutes), look.minutes);
  row += number_cell(fmt::format("{:.0f}", look.evaluations), look.evaluations) + number_cell(format_us(now), now);
  row += number_cell(format_us(look.expected_us), look.expected_us);
  row += number_cell(look.saved_us > 0 ? fmt::format("{:.3g}", look.saved_us) : "-", look.saved_us);
  return row + "</tr>\n";
}

std::string table(const Report& report) {
  std::string rows;
  for (const std::size_t index : report.outlook.ranking) rows += row_of(report, index);
  std::string head;
  if (report.devices.size() > 1) head += header("device");
  head += header("problem") + header("weight", true) + header("evaluations", true) + header("last doubling", true) +
          header("minutes", true) + header("more", true, "evaluations in these minutes") + header("µs now", true) +
          header("µs expected", true) + header("weight × µs saved", true);
  return scrolling_table(head, rows, "What another hour would go to", R"(class="sortable")");
}

/// What the problems without a minute have in common.
std::string the_others(const Report& report) {
  std::size_t settled = 0, no_time = 0, outbid = 0;
  for (const ProblemOutlook& look : report.outlook.problems) {
    settled += look.prospect == Prospect::settled ? 1 : 0;
    no_time += look.prospect == Prospect::no_time ? 1 : 0;
    outbid += look.prospect == Prospect::gains && look.minutes == 0 ? 1 : 0;
  }
  std::vector<std::string> parts;
  const auto say = [&](std::size_t count, const char* what) {
    if (count > 0) parts.push_back(count_of(count, "problem") + what);
  };
  say(settled, " gained nothing beyond the noise in the last doubling");
  say(outbid, " would gain, but less a minute than those above");
  say(no_time, " had no candidate that passed: more of the same is not expected to help");
  if (parts.empty()) return {};
  return fmt::format("<p>No time goes to the others: {}.</p>\n", fmt::join(parts, "; "));
}

std::string verdict(const Report& report) {
  if (report.outlook.ranking.empty()) {
    return "<p class=\"fine\">Nothing is expected of another hour with the same strategy: no problem's best fell by "
           "more than the noise in its last doubling of evaluations.</p>\n";
  }
  double saved = 0, now = 0;
  for (std::size_t i = 0; i < report.problems.size(); ++i) {
    if (!report.problems[i].best) continue;
    now += report.problems[i].weight * report.problems[i].best->outcome.timing->median_us;
    saved += report.outlook.problems[i].saved_us;
  }
  return fmt::format("<p>Expected of the hour: {:.2g}% off the weighted sum of all best times, {} µs.{}</p>\n",
      now > 0 ? 100 * saved / now : 0, format_us(now),
      report.outlook.minutes_unused >= 1
          ? fmt::format(" {:.0f} of its minutes would find nothing to do.", report.outlook.minutes_unused)
          : "");
}

}  // namespace

std::string outlook_section(const Report& report) {
  std::string text = fmt::format(
      "<p>How this is reckoned: each doubling of a problem's evaluations is expected to bring half of what the one "
      "before brought, as on recordings. So m more evaluations after n bring the share m / (n + m) of what the last "
      "doubling brought, but no time below that at the peak of the device or of its memory. What lies within the "
      "spread of the best's time counts as nothing. The hour is dealt out minute by minute, each to the problem where "
      "it is expected to save the most: weight × µs. Problems with fewer than {} evaluations come first. {} This is an "
      "extrapolation: it does not know how much of a space is left.</p>\n",
      kLeastEvaluations,
      report.options.workload ? fmt::format("Weights are those of workload {}.", escaped(report.options.workload->name))
                              : "Every problem has weight 1: --workload gives others.");
  if (!report.not_reached.empty())
    text += fmt::format("<p><strong>First of all: {} not reached.</strong></p>\n",
        count_that(report.not_reached.size(), "problem", "of the workload that was", "of the workload that were"));
  if (report.problems.empty()) return text + "<p>Nothing was tried, so there is nothing to go by.</p>\n";
  return text + verdict(report) + (report.outlook.ranking.empty() ? "" : table(report)) + the_others(report);
}

}  // namespace tilesmith::tuner::report
