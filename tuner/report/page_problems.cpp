// The tables of problems and of kernels of one's own.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tuner/figures.hpp"
#include "tuner/report/page.hpp"

namespace tilesmith::tuner::report {
namespace {

std::string gain_cell(const ProblemFigures& problem) {
  const double gain = problem.gain();
  if (!(gain > 0)) return number_cell("-", kNoNumber);
  return number_cell(times(gain), gain, gain > 1.005 ? "good" : gain < 0.995 ? "bad" : "");
}

std::string peer_cell(const ProblemFigures& problem) {
  if (!problem.peer) return number_cell("-", kNoNumber);
  if (problem.peer->refused) return number_cell("refused", kNoNumber, "quiet");
  const double ratio = problem.peer->ratio;
  if (!(ratio > 0)) return number_cell("-", kNoNumber);
  return number_cell(fmt::format("{}{}", problem.peer->same_run ? "" : "~", times(ratio)), ratio,
      ratio >= 1     ? "good"
      : ratio < 0.95 ? "bad"
                     : "");
}

std::string found_cell(const ProblemFigures& problem) {
  if (!problem.best) return number_cell("-", kNoNumber);
  if (!problem.best_is_new) return number_cell("before", -1, "quiet");
  return number_cell(
      fmt::format("{} (#{})", format_seconds(problem.best_found_at), problem.best_found_after), problem.best_found_at);
}

/// What type, op and sizes do not say: batch, epilogue, row strides, ... Two problems whose rows are otherwise the same
/// differ in it.
std::string options_cell(const Problem& problem) {
  const std::string extras = extras_text(problem);
  return text_cell(extras.empty() ? "" : std::string_view(extras).substr(1), "options");
}

bool has_options(const Report& report) {
  return std::ranges::any_of(report.problems, [](const ProblemFigures& p) { return !extras_text(p.problem).empty(); });
}

/// `options`: the table has a column for them.
std::string problem_row(const Report& report, std::size_t index, bool options) {
  const ProblemFigures& problem = report.problems[index];
  const Problem& p = problem.problem;
  const double us = problem.best ? problem.best->outcome.timing->median_us : 0;
  const Rate rate = rate_of(p, problem.device, us);
  std::string row = fmt::format(R"(<tr id="r{}">)", index);
  if (report.devices.size() > 1) row += text_cell(short_name(problem.device));
  row += fmt::format(R"(<th scope="row"><a href="#p{}">{}</a></th>)", index, escaped(p.type.name));
  row += text_cell(name(p.trans));
  for (const std::int64_t size : {p.m, p.n, p.k}) row += number_cell(std::to_string(size), double(size));
  if (options) row += options_cell(p);
  row += text_cell(problem.best ? problem.best->config.family() : "-");
  row += us_cell(us, "key");
  row += number_cell(
      us > 0 ? fmt::format("{} {}", format_tflops(rate.value), rate.unit) : "-", us > 0 ? rate.value : kNoNumber);
  row += number_cell(rate.of_peak ? format_percent(*rate.of_peak) : "-", rate.of_peak.value_or(kNoNumber));
  row += gain_cell(problem);
  if (has_peer(report)) row += peer_cell(problem);
  row += number_cell(format_count(problem.tried), double(problem.tried));
  row +=
      number_cell(format_count(problem.failed), double(problem.failed), problem.failed == problem.tried ? "bad" : "");
  row += found_cell(problem);
  row += text_cell(problem.best ? problem.best->config.text() : "no candidate passed", "code");
  return row + "</tr>\n";
}

std::string head_of(const Report& report, bool options) {
  std::string head;
  if (report.devices.size() > 1) head += header("device");
  head +=
      header("type") + header("op", false, "transposes") + header("M", true) + header("N", true) + header("K", true);
  if (options)
    head += header("options", false, "batch, epilogue, strides: what differs from a packed problem with β = 0");
  head += header("family") + header("µs", true, "median of the best config") + header("rate", true);
  head += header("of peak", true, "of the multiply units, or of the memory where the rate is GB/s");
  head += header("gain", true, "baseline's time over the best's");
  if (has_peer(report)) head += header("× cuBLASLt", true, "its best time over ours");
  head += header("tried", true, "candidates") + header("failed", true, "candidates");
  head += header(
      "found", true, "when the best was first timed: work since the beginning, and which evaluation of the problem");
  return head + header("config");
}

std::string not_reached(const Report& report) {
  if (report.not_reached.empty()) return {};
  std::string items;
  for (const WeightedTask& one : report.not_reached)
    items += "<li>" + escaped(one.task.is_gemm() ? name_of(one.task.problem()) : text(one.task)) + "</li>\n";
  return fmt::format(
      "<details><summary>{} of workload {} not reached</summary>\n<ul class=\"plain\">\n{}</ul></details>\n",
      count_of(report.not_reached.size(), "problem"), escaped(report.options.workload->name), items);
}

}  // namespace

std::string problems_section(const Report& report) {
  if (report.problems.empty()) return "<p>No problem was tuned.</p>\n" + not_reached(report);
  const bool options = has_options(report);
  std::string rows;
  for (std::size_t i = 0; i < report.problems.size(); ++i) rows += problem_row(report, i, options);
  return fmt::format(
             "<p>Gain is the baseline's time over the best's. The baseline is what the database held before, or else "
             "the first candidate that passed. Peak is the device's data-sheet rate; problems that memory bounds are "
             "given in GB/s.{}</p>\n",
             has_peer(report) ? " Against cuBLASLt, ~ marks a ratio of two runs; the others were timed interleaved."
                              : "") +
         scrolling_table(head_of(report, options), rows, "Problems and their best configs",
             R"(class="sortable" id="problem-table")") +
         not_reached(report);
}

std::string kernels_section(const Report& report) {
  const std::vector<db::JudgedBest>& kernels = report.options.kernels;
  if (kernels.empty()) return {};
  const std::string head = header("kernel") + header("µs", true, "median of the best config") + header("rate", true) +
                           header("right", true, "of the candidates tried") + header("trust") + header("config");
  std::string rows;
  for (const db::JudgedBest& best : kernels) {
    const double us = best.record.outcome.timing ? best.record.outcome.timing->median_us : 0;
    const Rate rate = rate_of(best.record.task, best.record.device, us, 0);
    rows += "<tr>" + text_cell(text(best.record.task).substr(std::string_view("kernel ").size())) +
            number_cell(format_us(us), us) + number_cell(rate.value > 0 ? rate.text() : "-", rate.value) +
            number_cell(fmt::format("{}/{}", best.ok, best.candidates), double(best.ok)) + text_cell(best.trust) +
            text_cell(best.record.config.text(), "code") + "</tr>\n";
  }
  return "<p>The best config of each of the sizes that were tuned, on each device of the database.</p>\n" +
         scrolling_table(head, rows, "Kernels of your own and their best configs", R"(class="sortable")");
}

}  // namespace tilesmith::tuner::report
