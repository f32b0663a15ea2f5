// The top of the page: what was reached, in one sentence and a few figures, and by which runs.
#include <fmt/format.h>

#include <algorithm>

#include "tuner/figures.hpp"
#include "tuner/report/page.hpp"

namespace tilesmith::tuner::report {
namespace {

std::string devices_text(const Report& report) {
  std::vector<std::string> names;
  for (const db::DeviceIdentity& device : report.devices) names.push_back(short_name(device));
  return fmt::format("{}", fmt::join(names, " and "));
}

std::size_t with_time(const Report& report) {
  return std::size_t(std::count_if(
      report.problems.begin(), report.problems.end(), [](const ProblemFigures& p) { return p.best.has_value(); }));
}

std::string nothing_text(const Report& report) {
  if (report.selection.runs.empty()) {
    return report.options.since ? "Nothing was tuned: no run was at work since then."
                                : "Nothing was tuned: the database knows no run.";
  }
  if (report.left_out > 0)
    return "Nothing to report: all its records are by former kernels, compiler options or measuring policies.";
  const RunFigures& last = report.selection.runs.back();
  const std::string how = last.open() ? "it has no end: it is still at work, or was killed"
                                      : fmt::format("it ended: {}", last.run.ended_how);
  return fmt::format("No outcome was recorded by {} ({}). What is known already is not tried again.",
      report.selection.runs.size() == 1 ? "this run" : "these runs", how);
}

std::string card(std::string_view label, const std::string& value, const std::string& below) {
  return fmt::format("<div><dt>{}</dt><dd><strong>{}</strong><span>{}</span></dd></div>\n", escaped(label),
      escaped(value), escaped(below));
}

std::string baseline_text(const Report& report) {
  const Mean known = mean_gain(report, Baseline::Kind::known), guess = mean_gain(report, Baseline::Kind::first_config);
  std::vector<std::string> parts;
  if (known.count > 0) parts.push_back(fmt::format("what was known before: {} ({})", times(known.value), known.count));
  if (guess.count > 0) parts.push_back(fmt::format("first guess: {} ({})", times(guess.value), guess.count));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string peer_card(const Report& report) {
  const Mean mean = mean_peer_ratio(report);
  if (mean.count == 0) {
    return card("Against cuBLASLt", "unknown",
        report.options.bench_name.empty() ? "give the CSV of tilesmith bench as --bench" : "the CSV has none of them");
  }
  const auto count = [&](auto&& is) { return std::count_if(report.problems.begin(), report.problems.end(), is); };
  const auto at_par = count([](const ProblemFigures& p) { return p.peer && p.peer->ratio >= 1; });
  const auto refused = count([](const ProblemFigures& p) { return p.peer && p.peer->refused; });
  return card("Against cuBLASLt", times(mean.value),
      fmt::format("{}, {} at 1× or above{}", count_of(mean.count, "problem"), at_par,
          refused > 0 ? fmt::format("; {} refused by it", refused) : ""));
}

/// "2026-01-31 22:10 to 06:12 UTC": the second date only where more than a night lies between.
std::string span_text(double began, double ended) {
  constexpr double kNight = 20 * 3600;
  const std::string from = utc_minutes(began), to = utc_minutes(ended);
  return fmt::format("{} to {} UTC", from, ended - began < kNight ? to.substr(11) : to);
}

std::string cards(const Report& report) {
  const std::size_t wanted = report.problems.size() + report.not_reached.size();
  const double share = report.tried > 0 ? double(report.failed) / double(report.tried) : 0;
  const Mean gain = mean_gain(report);
  std::string text = "<dl class=\"cards\">\n";
  text += card("Problems", format_count(report.problems.size()),
      report.options.workload ? fmt::format("of {} in the workload", wanted)
                              : fmt::format("{} with a time", with_time(report)));
  text += card("Candidates", format_count(report.tried),
      fmt::format("{} failed ({:.1f}%)", format_count(report.failed), 100 * share));
  text += card("At work", format_seconds(report.seconds), span_text(report.began, report.ended));
  text += card("Candidates a second",
      report.seconds > 0 ? fmt::format("{:.3g}", double(report.tried) / report.seconds) : "-",
      fmt::format("{}, final benchmarks included", count_of(report.entries, "measurement")));
  text +=
      card("Against the baseline", times(gain.value), gain.count > 0 ? baseline_text(report) : "no time to compare");
  return text + peer_card(report) + "</dl>\n";
}

std::string ending_of(const RunFigures& run) {
  if (!run.recorded) return "not recorded here";
  return run.open() ? "no end: at work, or killed" : run.run.ended_how;
}

std::string runs_table(const Report& report) {
  std::string rows;
  for (const RunFigures& run : report.selection.runs) {
    rows += R"(<tr><th scope="row"><code>)" + escaped(run.run.uuid) + "</code></th>";
    rows += fmt::format("<td>{}</td>", moment(run.began));
    rows += number_cell(format_seconds(run.ended - run.began), run.ended - run.began);
    rows += number_cell(format_count(run.entries), double(run.entries));
    rows +=
        text_cell(ending_of(run)) + text_cell(run.run.workload) + text_cell(run.run.strategy) + text_cell(run.run.host);
    rows += text_cell(run.run.command, "code") + "</tr>\n";
  }
  const std::string head = header("run") + header("began, UTC") + header("took", true) + header("measurements", true) +
                           header("ended") + header("workload") + header("strategy") + header("host") +
                           header("command");
  return fmt::format("<details{}><summary>{}{}</summary>\n{}</details>\n",
      report.selection.runs.size() <= 3 ? " open" : "", count_of(report.selection.runs.size(), "run"),
      report.options.since ? ", since " + utc_minutes(*report.options.since) + " UTC" : "",
      scrolling_table(head, rows, "Runs"));
}

std::string provenance(const Report& report) {
  if (report.provenance.empty()) return {};
  return fmt::format(
      "<p class=\"quiet\">Measured with {}.</p>\n", escaped(fmt::format("{}", fmt::join(report.provenance, "; "))));
}

}  // namespace

std::string headline(const Report& report) {
  if (report.problems.empty()) return nothing_text(report);
  const std::size_t timed = with_time(report);
  std::string text = fmt::format("{} tuned on {} in {}.", count_of(report.problems.size(), "problem"),
      devices_text(report), format_seconds(report.seconds));
  if (timed == 0) return text + " No candidate passed: there is no best time.";
  if (const Mean gain = mean_gain(report); gain.count > 0) {
    text += fmt::format(" The best configs are {} as fast as the baseline", times(gain.value));
    if (const Mean peer = mean_peer_ratio(report); peer.count > 0) {
      text += fmt::format(" and {} as fast as cuBLASLt", times(peer.value));
    }
    text += " (geometric means).";
  }
  if (timed < report.problems.size())
    text += fmt::format(" {} no time yet.", count_that(report.problems.size() - timed, "problem", "has", "have"));
  return text;
}

std::string head_section(const Report& report) {
  std::string text = "<section id=\"head\" aria-labelledby=\"head-title\">\n<h1 id=\"head-title\">Tuning report</h1>\n";
  text += R"(<p class="lead">)" + escaped(headline(report)) + "</p>\n";
  if (report.entries > 0) text += cards(report);
  const std::vector<std::string> notes = worth_a_look(report);
  if (!notes.empty()) {
    text += "<div class=\"notes\"><h2>Worth a look</h2>\n<ul>\n";
    for (const std::string& note : notes) text += "<li>" + escaped(note) + "</li>\n";
    text += "</ul></div>\n";
  } else if (report.entries > 0) {
    text +=
        "<p class=\"fine\">Nothing stands out: no run failed, every problem has a time, no low clock was read.</p>\n";
  }
  if (!report.selection.runs.empty()) text += runs_table(report);
  return text + provenance(report) + "</section>\n";
}

}  // namespace tilesmith::tuner::report
