#include "tuner/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tuner/figures.hpp"
#include "tuner/report/page_text.hpp"
#include "tuner/report/utc.hpp"

namespace tilesmith::tuner::report {

// The top of the page: what was reached, in one sentence and a few figures, and by which runs.

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
  text += card("Problems", format_count((long long)(report.problems.size())),
      report.options.workload ? fmt::format("of {} in the workload", wanted)
                              : fmt::format("{} with a time", with_time(report)));
  text += card("Candidates", format_count((long long)(report.tried)),
      fmt::format("{} failed ({:.1f}%)", format_count((long long)(report.failed)), 100 * share));
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
    rows += number_cell(format_count((long long)(run.entries)), double(run.entries));
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

// What someone who was asleep meanwhile should be told first.

namespace {

constexpr double kManyFailed = 0.25;
constexpr double kManyLow = 0.02;  // of the readings
constexpr double kBehindPeer = 0.95;

using Notes = std::vector<std::string>;

void about_runs(const Report& report, Notes& notes) {
  const auto elsewhere = [](const RunFigures& run) { return !run.recorded; };
  if (std::any_of(report.selection.runs.begin(), report.selection.runs.end(), elsewhere)) {
    notes.push_back(
        "Some of this is imported: of each candidate its latest measurement alone may be there, which bends "
        "convergence, gains and what another hour is expected to bring.");
  }
  for (const RunFigures& run : report.selection.runs) {
    if (!run.recorded) continue;
    if (run.open()) {
      notes.push_back(fmt::format(
          "Run {} has no end: it is still at work, or was killed. What it measured is kept.", run.run.uuid));
    } else if (run.run.ended_how.rfind("failed", 0) == 0) {
      notes.push_back(fmt::format("Run {} {}", run.run.uuid, run.run.ended_how));
    } else if (run.run.ended_how == "interrupted") {
      notes.push_back(fmt::format("Run {} was interrupted.", run.run.uuid));
    }
  }
}

void about_problems(const Report& report, Notes& notes) {
  if (!report.not_reached.empty())
    notes.push_back(count_that(report.not_reached.size(), "problem", "of the workload was", "of the workload were") +
                    " not reached; they are listed under Problems.");
  const auto count = [&](auto&& is) {
    return std::size_t(std::count_if(report.problems.begin(), report.problems.end(), is));
  };
  if (const std::size_t none = count([](const ProblemFigures& p) { return !p.best; }); none > 0)
    notes.push_back(count_that(none, "problem", "has", "have") + " no time: no candidate passed.");
  const auto is_behind = [](const ProblemFigures& p) {
    return p.peer && p.peer->ratio > 0 && p.peer->ratio < kBehindPeer;
  };
  if (const std::size_t behind = count(is_behind); behind > 0) {
    const auto worst =
        std::min_element(report.problems.begin(), report.problems.end(), [&](const auto& a, const auto& b) {
          return (is_behind(a) ? a.peer->ratio : 1) < (is_behind(b) ? b.peer->ratio : 1);
        });
    notes.push_back(fmt::format("{} below {}× of cuBLASLt, the furthest {} at {}.",
        count_that(behind, "problem", "is", "are"), kBehindPeer, name_of(worst->problem), times(worst->peer->ratio)));
  }
}

void about_failures(const Report& report, Notes& notes) {
  if (report.tried == 0 || report.failures.empty()) return;
  const double share = double(report.failed) / double(report.tried);
  if (share < kManyFailed) return;
  const FailureKind& most = report.failures.front();
  notes.push_back(fmt::format("{:.0f}% of the candidates failed, most of them as {} ({}).", 100 * share,
      db::name(most.status), format_count((long long)(most.count))));
}

void about_device(const Report& report, Notes& notes) {
  for (const Telemetry& telemetry : report.telemetry) {
    const std::string device = report.devices.size() > 1 ? " on " + short_name(telemetry.device) : "";
    for (const Series& series : telemetry.series) {
      const double share = double(series.marked) / double(series.readings.size());
      if (series.name == "Drift" ? series.marked == 0 : share < kManyLow) continue;
      notes.push_back(fmt::format("{}{}: {} of {} readings are {}.", series.name, device,
          format_count((long long)(series.marked)), format_count((long long)(series.readings.size())), series.mark));
    }
    if (const std::string arch = db::ran_as(telemetry.device); !arch.empty()) {
      notes.push_back(fmt::format(
          "{} ran the code of {}: this proves the code, its times are of no use there.", telemetry.device.name, arch));
    }
  }
}

}  // namespace

std::vector<std::string> worth_a_look(const Report& report) {
  Notes notes;
  about_runs(report, notes);
  about_problems(report, notes);
  about_failures(report, notes);
  about_device(report, notes);
  if (report.left_out > 0)
    notes.push_back(count_that(report.left_out, "measurement", "is", "are") +
                    " left out: their kernels, compiler options or measuring policy changed since.");
  return notes;
}

// Failures by kind, with what they said.

namespace {

const std::map<db::Status, std::string_view> kMeanings{{db::Status::ok, "right, with a time"},
    {db::Status::illegal, "a rule or the problem refuses the config"},
    {db::Status::compile_failed, "the compiler refused the source, or crashed on it"},
    {db::Status::spilled, "compiled, but its registers spill to local memory: not timed"},
    {db::Status::launch_failed, "the driver refused to load or launch it"},
    {db::Status::timed_out, "did not end within its time limit"},
    {db::Status::device_fault, "illegal access or instruction: the device context was lost"},
    {db::Status::mismatch, "ran, and gave wrong results"}};

std::string messages_of(const FailureKind& kind) {
  std::string rows;
  for (const FailureMessage& message : kind.messages) {
    const db::Record& example = message.example;
    rows += "<tr>" + number_cell(format_count((long long)(message.count)), double(message.count));
    rows += text_cell(example.outcome.message.empty() ? "(no message)" : example.outcome.message, "message");
    rows += text_cell(name_of(example.problem)) + text_cell(example.config.text(), "code") + "</tr>\n";
  }
  if (kind.other_messages > 0) {
    rows += "<tr>" + number_cell(format_count((long long)(kind.other_messages)), double(kind.other_messages)) +
            "<td colspan=\"3\" class=\"quiet\">with other messages</td></tr>\n";
  }
  const std::string head =
      header("count", true) + header("message, the latest of its like") + header("problem") + header("config");
  return scrolling_table(head, rows, db::name(kind.status));
}

}  // namespace

std::string failures_section(const Report& report) {
  if (report.tried == 0) return "<p>Nothing was tried.</p>\n";
  if (report.failures.empty()) {
    return fmt::format("<p>None: all {} candidates passed.</p>\n", format_count((long long)(report.tried)));
  }
  std::string text = fmt::format(
      "<p>{} of {} candidates failed. A failure is an outcome like any other: it is kept, and not tried again unless "
      "its inputs change. Messages that differ in their numbers alone are counted together. <code>tilesmith query "
      "--status {}</code> lists all of a kind.</p>\n",
      format_count((long long)(report.failed)), format_count((long long)(report.tried)),
      db::name(report.failures.front().status));
  for (const FailureKind& kind : report.failures) {
    text += fmt::format(
        "<details class=\"kind\" open><summary><strong>{}</strong> {} ({:.1f}% of the candidates): {}</summary>\n{}"
        "</details>\n",
        db::name(kind.status), format_count((long long)(kind.count)), 100 * double(kind.count) / double(report.tried),
        kMeanings.at(kind.status), messages_of(kind));
  }
  return text;
}

namespace {

struct Part {
  std::string_view id, title;
  std::string (*text)(const Report&);
};
constexpr Part kParts[] = {
    {"problems", "Problems", problems_section},
    {"compared", "Compared", compared_section},
    {"roofline", "Roofline", roofline_section},
    {"convergence", "Convergence", convergence_section},
    {"device", "Device", device_section},
    {"failures", "Failures", failures_section},
    {"outlook", "Another hour", outlook_section},
};

/// Sections without text are left out.
std::string navigation(const Report& report) {
  std::string links;
  for (const Part& part : kParts) {
    if (!part.text(report).empty()) links += fmt::format(R"(<a href="#{}">{}</a>)", part.id, part.title);
  }
  return fmt::format("<nav aria-label=\"Sections\">{}</nav>\n", links);
}

std::string title_of(const Report& report) {
  return fmt::format("Tuning report{}{}", report.devices.empty() ? "" : ": " + report.devices.front().name,
      report.options.made_at.empty() ? "" : ", " + report.options.made_at.substr(0, 10));
}

std::string footer(const Report& report) {
  return fmt::format(
      "<footer><p>Made {} from <code>{}</code>{}. Times are medians in microseconds of cold operands; clock times are "
      "UTC. The page loads nothing from anywhere.</p></footer>\n",
      escaped(report.options.made_at), escaped(report.options.database),
      report.options.bench_name.empty() ? "" : fmt::format(" and <code>{}</code>", escaped(report.options.bench_name)));
}

}  // namespace

std::string page_of(const Report& report) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
      escaped(title_of(report)), kPageStyle);
  page +=
      R"(<header><p class="brand">Tilesmith</p>)" + navigation(report) + "</header>\n<main>\n" + head_section(report);
  for (const Part& part : kParts) {
    const std::string text = part.text(report);
    if (text.empty()) continue;
    page += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n", part.id,
        part.title, text);
  }
  return page + "</main>\n" + footer(report) + fmt::format("<script>\n{}</script>\n</body>\n</html>\n", kPageScript);
}

}  // namespace tilesmith::tuner::report
