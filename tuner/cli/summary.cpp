#include "tuner/cli/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/choose/catalogue.hpp"
#include "runtime/choose/choose.hpp"
#include "tuner/cli/table.hpp"
#include "tuner/figures.hpp"
#include "tuner/peaks.hpp"

namespace tilesmith::tuner {
namespace {

/// `batches`: there is a column for entries.
std::vector<std::string> cells_of(const Problem& problem, const runtime::Choice& choice, std::optional<double> peak, bool batches) {
  std::vector<std::string> cells{std::string(problem.type.name), std::string(name(problem.trans)), std::to_string(problem.m),
                                 std::to_string(problem.n), std::to_string(problem.k)};
  if (batches) cells.push_back(problem.batch_mode == BatchMode::single ? "" : std::to_string(problem.batch));
  const bool predicted = choice.level == runtime::Level::model;
  const bool measured = choice.level == runtime::Level::exact && choice.evidence && choice.evidence->outcome.timing;
  if (measured) {
    const db::Timing& timing = *choice.evidence->outcome.timing;
    const double rate = tflops(problem, timing.median_us);
    cells.push_back(format_us(timing.median_us));
    cells.push_back(format_tflops(rate));
    cells.push_back(peak ? format_percent(rate / *peak) : "-");
    cells.push_back(fmt::format("±{:.1f}%", 100 * timing.spread));
  } else {
    cells.push_back(predicted ? "~" + format_us(choice.predicted_us) : "-");
    cells.insert(cells.end(), 3, "-");
  }
  cells.emplace_back(runtime::name(choice.level));
  cells.push_back(choice.config.text() + extras_text(problem));
  return cells;
}

}  // namespace

std::string summary_of_bests(const Workload& workload, const db::Store& store, const SummaryDevice& device, std::size_t width) {
  std::set<std::string> units;
  for (const WeightedProblem& one : workload.problems) units.insert(rate_unit(one.problem.type));
  using Align = TextTable::Align;
  const bool batches = std::ranges::any_of(workload.problems, [](const WeightedProblem& one) { return one.problem.batch_mode != BatchMode::single; });
  std::vector<TextTable::Column> columns{{"type"}, {"op"}, {"M", Align::right}, {"N", Align::right}, {"K", Align::right}};
  if (batches) columns.push_back({"batch", Align::right});
  for (const TextTable::Column& column : {TextTable::Column{"µs", Align::right}, {fmt::format("{}", fmt::join(units, "|")), Align::right},
                                          {"peak", Align::right}, {"spread", Align::right}, {"level"}, {"config"}})
    columns.push_back(column);
  TextTable table(std::move(columns));
  std::map<std::string, std::vector<db::Evidence>> entries;  // by type pair
  std::map<std::string, runtime::Chooser> choosers;          // by type pair and transposes
  for (const WeightedProblem& one : workload.problems) {
    const Problem& problem = one.problem;
    const std::string type(problem.type.name), key = text(problem.signature());
    if (!entries.contains(type)) entries[type] = runtime::evidence_to_choose_by(store, problem.type, device.identity.sm);
    const KernelTarget target{problem, device.limits};
    const auto chooser = choosers.try_emplace(key, entries[type], target, device.producer, &device.identity).first;
    const runtime::Choice choice = chooser->second.choose(problem);
    table.add(cells_of(problem, choice, peak_tflops(device.identity, problem.type, device.clock_mhz), batches));
  }
  const bool cut = width > 0 && table.width() > width;
  return fmt::format("\n{}\n\n{}{}", short_name(device.identity), table.text(width),
                     cut ? "(cut to the terminal's width; through a pipe or with `tilesmith query --format csv` lines are whole)\n" : "");
}

}  // namespace tilesmith::tuner
