#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <vector>

#include "runtime/cublas/shim/settings.hpp"
#include "runtime/cublas/shim/shim_state.hpp"

namespace tilesmith::cublas {
namespace {

struct ReportLine {
  Reason reason;
  std::uint64_t calls = 0, problems = 0;
};

template <typename... Values>
void add_line(std::string& text, const char* format, Values... values) {
  char line[512];
  std::snprintf(line, sizeof line, format, values...);
  text += line;
}

}  // namespace

std::string report_text(ShimState& state) {
  std::vector<ReportLine> lines(kReasons);
  double saved_us = 0;
  const std::vector<KnownProblem*> problems = state.problems.all();
  for (std::size_t reason = 0; reason < kReasons; ++reason) {
    lines[reason].reason = Reason(reason);
    lines[reason].calls = state.unkeyed[reason].load();
    for (const KnownProblem* problem : problems) {
      const std::uint64_t calls = problem->calls[reason].load();
      lines[reason].calls += calls;
      lines[reason].problems += calls > 0 ? 1 : 0;
    }
  }
  for (const KnownProblem* problem : problems)
    saved_us += double(problem->calls[0].load()) * std::max(0.0, problem->vendor_us - problem->ours_us);
  std::uint64_t all = 0;
  for (const ReportLine& line : lines) all += line.calls;
  if (all == 0) return "";

  std::string text;
  add_line(text, "tilesmith: cublas %d: process %d, %s: %" PRIu64 " calls of %zu problems\n", TILESMITH_CUDA_MAJOR,
      int(state.process), name(settings().mode), all, problems.size());
  const ReportLine taken = lines.front();
  add_line(text,
      "tilesmith: %12" PRIu64 "  taken over (%" PRIu64 " problems): %.3f ms less, by the database's figures\n",
      taken.calls, taken.problems, saved_us / 1000);
  lines.erase(lines.begin());
  std::stable_sort(
      lines.begin(), lines.end(), [](const ReportLine& a, const ReportLine& b) { return a.calls > b.calls; });
  for (const ReportLine& line : lines) {
    if (line.calls == 0) break;
    add_line(text, "tilesmith: %12" PRIu64 "  forwarded: %s", line.calls, cublas::text(line.reason));
    if (line.problems > 0) add_line(text, " (%" PRIu64 " problems)", line.problems);
    text += "\n";
  }
  if (settings().mode == Mode::check)
    add_line(text, "tilesmith: %12" PRIu64 "  checked, of which %" PRIu64 " differ\n", state.checked.load(),
        state.differing.load());
  return text;
}

void report(ShimState& state) noexcept {
  try {
    std::string text = report_text(state);
    if (text.empty()) return;
    text.pop_back();
    say_lines(text);
  } catch (...) {  // out of memory
  }
}

}  // namespace tilesmith::cublas
