// Failures by kind, with what they said.
#include <fmt/format.h>

#include "tuner/figures.hpp"
#include "tuner/report/page_text.hpp"
#include "tuner/report/sections.hpp"

namespace tilesmith::tuner::report {
namespace {

std::string_view meaning(db::Status status) {
  switch (status) {
    case db::Status::ok:
      return "right, with a time";
    case db::Status::illegal:
      return "a rule or the problem refuses the config";
    case db::Status::compile_failed:
      return "the compiler refused the source, or crashed on it";
    case db::Status::spilled:
      return "compiled, but its registers spill to local memory: not timed";
    case db::Status::launch_failed:
      return "the driver refused to load or launch it";
    case db::Status::timed_out:
      return "did not end within its time limit";
    case db::Status::device_fault:
      return "illegal access or instruction: the device context was lost";
    case db::Status::mismatch:
      return "ran, and gave wrong results";
  }
  return "";
}

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
  return scrolling(fmt::format("<table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table>", head, rows),
                   std::string(db::name(kind.status)));
}

}  // namespace

std::string failures_section(const Report& report) {
  if (report.tried == 0) return "<p>Nothing was tried.</p>\n";
  if (report.failures.empty()) {
    return fmt::format("<p>None: all {} candidates passed.</p>\n", format_count((long long)(report.tried)));
  }
  std::string text = fmt::format(
      "<p>{} of {} candidates failed. A failure is an outcome like any other: it is kept, and not tried again unless "
      "its inputs "
      "change. Messages that differ in their numbers alone are counted together. <code>tilesmith query --status "
      "{}</code> lists "
      "all of a kind.</p>\n",
      format_count((long long)(report.failed)), format_count((long long)(report.tried)),
      db::name(report.failures.front().status));
  for (const FailureKind& kind : report.failures) {
    text += fmt::format(
        "<details class=\"kind\" open><summary><strong>{}</strong> {} ({:.1f}% of the candidates): {}</summary>\n{}"
        "</details>\n",
        db::name(kind.status), format_count((long long)(kind.count)), 100 * double(kind.count) / double(report.tried),
        meaning(kind.status), messages_of(kind));
  }
  return text;
}

}  // namespace tilesmith::tuner::report
