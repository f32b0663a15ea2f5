// Failures by kind, with what they said.
#include <fmt/format.h>

#include <map>

#include "tuner/figures.hpp"
#include "tuner/report/page.hpp"

namespace tilesmith::tuner::report {
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
    rows += "<tr>" + number_cell(format_count(message.count), double(message.count));
    rows += text_cell(example.outcome.message.empty() ? "(no message)" : example.outcome.message, "message");
    rows += text_cell(name_of(example.task.problem())) + text_cell(example.config.text(), "code") + "</tr>\n";
  }
  if (kind.other_messages > 0) {
    rows += "<tr>" + number_cell(format_count(kind.other_messages), double(kind.other_messages)) +
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
    return fmt::format("<p>None: all {} candidates passed.</p>\n", format_count(report.tried));
  }
  std::string text = fmt::format(
      "<p>{} of {} candidates failed. A failure is an outcome like any other: it is kept, and not tried again unless "
      "its inputs change. Messages that differ in their numbers alone are counted together. <code>tilesmith query "
      "--status {}</code> lists all of a kind.</p>\n",
      format_count(report.failed), format_count(report.tried), db::name(report.failures.front().status));
  for (const FailureKind& kind : report.failures) {
    text += fmt::format(
        "<details class=\"kind\" open><summary><strong>{}</strong> {} ({:.1f}% of the candidates): {}</summary>\n{}"
        "</details>\n",
        db::name(kind.status), format_count(kind.count), 100 * double(kind.count) / double(report.tried),
        kMeanings.at(kind.status), messages_of(kind));
  }
  return text;
}

}  // namespace tilesmith::tuner::report
