#include "tuner/cli/output/summary.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "runtime/choose/catalogue.hpp"
#include "runtime/choose/choose.hpp"
#include "tuner/bests/bests_today.hpp"
#include "tuner/cli/output/records.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/figures.hpp"
#include "tuner/peaks.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kMostPredicted =
    32;  // of problems that have no time; a prediction takes some hundredths of a second

/// `options`: as for problem_cells().
std::vector<std::string> cells_of(
    const Problem& problem, bool options, const runtime::Choice& choice, const SummaryDevice& device) {
  std::vector<std::string> cells = problem_cells(problem, options);
  const bool predicted = choice.level == runtime::Level::model;
  const bool measured = choice.level == runtime::Level::exact && choice.record && choice.record->outcome.timing;
  if (measured) {
    const db::Timing& timing = *choice.record->outcome.timing;
    cells.insert(cells.end(), {format_us(timing.median_us), format_tflops(tflops(problem, timing.median_us)),
                                  rate_of(problem, device.identity, timing.median_us, device.clock_mhz).percent(),
                                  fmt::format("±{:.1f}%", 100 * timing.spread)});
  } else {
    cells.push_back(predicted ? "~" + format_us(choice.predicted_us) : "-");
    cells.insert(cells.end(), 3, "-");
  }
  cells.insert(cells.end(), {std::string(runtime::name(choice.level)), choice.config.text()});
  return cells;
}

/// The bests of the kernels of a user's own that the workload has; empty without any.
std::string summary_of_kernels(
    const Workload& workload, const db::Store& store, const db::DeviceIdentity& device, std::size_t width) {
  std::vector<Task> tasks;
  for (const WeightedTask& one : workload.tasks) {
    if (!one.task.is_gemm()) tasks.push_back(one.task);
  }
  if (tasks.empty()) return "";
  const std::vector<db::JudgedBest> bests = bests_of_kernels(store, tasks, device);
  return bests.empty() ? "no kernel has a time\n" : best_table(bests, width);
}

}  // namespace

std::string summary_of_bests(
    const Workload& workload, const db::Store& store, const SummaryDevice& device, std::size_t width) {
  const std::string of_kernels = summary_of_kernels(workload, store, device.identity, width);
  std::set<std::string> units;
  bool options = false;
  for (const WeightedTask& one : workload.tasks) {
    if (!one.task.is_gemm()) continue;
    units.insert(rate_unit(one.task.problem().type));
    options = options || !extras_text(one.task.problem()).empty();
  }
  std::vector<std::string> titles = problem_titles(options);
  titles.insert(
      titles.end(), {">µs", fmt::format(">{}", fmt::join(units, "|")), ">peak", ">spread", "level", "config"});
  TextTable table(std::move(titles));
  std::map<std::string, std::vector<db::Record>> entries;  // by type pair
  std::set<std::string> timed;
  std::size_t predicted = 0;
  std::map<std::string, runtime::Chooser> choosers;  // by signature
  for (const WeightedTask& one : workload.tasks) {
    if (!one.task.is_gemm()) continue;
    const Problem& problem = one.task.problem();
    const std::string type(problem.type.name), key = text(problem.signature());
    if (!entries.contains(type)) {
      entries[type] = runtime::records_to_choose_by(store, problem.type, device.identity.sm);
      for (const db::Record& entry : entries[type]) timed.insert(text(entry.task));
    }
    if (!timed.contains(text(problem)) && ++predicted > kMostPredicted) continue;
    const KernelTarget target{problem, device.limits};
    const auto chooser = choosers.try_emplace(key, entries[type], target, device.environment, &device.identity).first;
    const runtime::Choice choice = chooser->second.choose(problem, {}, 0);
    table.add(cells_of(problem, options, choice, device));
  }
  std::string notes;
  if (predicted > kMostPredicted)
    notes = fmt::format(
        "({} more have no time; `tilesmith explain` predicts it)\n", count_of(predicted - kMostPredicted, "problem"));
  if (width > 0 && table.width() > width)
    notes += "(cut to the terminal's width; through a pipe or with `tilesmith query --format csv` lines are whole)\n";
  const std::string of_problems = table.empty() ? "" : table.text(width) + notes;
  const std::string between = of_problems.empty() || of_kernels.empty() ? "" : "\n";
  return fmt::format("\n{}\n\n{}{}{}", short_name(device.identity), of_problems, between, of_kernels);
}

}  // namespace tilesmith::tuner
