// tilesmith tune --dry-run: how much there would be to try.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kernels/eligible.hpp"
#include "tuner/cli/table.hpp"
#include "tuner/cli/terminal.hpp"
#include "tuner/cli/tune_command.hpp"
#include "tuner/figures.hpp"

namespace tilesmith::tuner {
namespace {

std::vector<const Family*> chosen_families(const std::vector<std::string>& names) {
  std::vector<const Family*> chosen;
  for (const auto& family : families()) {
    if (names.empty() || std::find(names.begin(), names.end(), family->name()) != names.end())
      chosen.push_back(family.get());
  }
  return chosen;
}

/// How many legal configs of a family do not refuse each problem. A space has many configs: one is held at a time.
std::vector<long long> count_configs(const Family& family, const Workload& workload, const DeviceLimits& limits) {
  const std::vector<WeightedProblem>& problems = workload.problems;
  std::vector<long long> counts(problems.size(), -1);
  for (std::size_t first = 0; first < problems.size(); ++first) {
    if (counts[first] >= 0) continue;
    const KernelTarget target{problems[first].problem, limits};
    const Space space = enumerate_space(family, target);
    for (std::size_t i = first; i < problems.size(); ++i) {
      const Problem& problem = problems[i].problem;
      if (!(problem.signature() == target.signature())) continue;
      counts[i] = std::count_if(space.configs.begin(), space.configs.end(),
                                [&](const Config& config) { return eligible(family, config, problem); });
    }
  }
  return counts;
}

void print_for(const PreparedTune& prepared, const DeviceLimits& limits, const std::string& on) {
  const std::vector<const Family*> chosen = chosen_families(prepared.tune.families);
  std::vector<TextTable::Column> columns{{"problem"}, {"weight", TextTable::Align::right}};
  std::vector<std::vector<long long>> counts;
  for (const Family* family : chosen) {
    columns.push_back({std::string(family->name()), TextTable::Align::right});
    counts.push_back(count_configs(*family, prepared.workload, limits));
  }
  columns.push_back({"configs", TextTable::Align::right});
  TextTable table(columns);
  long long all = 0;
  for (std::size_t i = 0; i < prepared.workload.problems.size(); ++i) {
    const WeightedProblem& weighted = prepared.workload.problems[i];
    std::vector<std::string> cells{text(weighted.problem), fmt::format("{:g}", weighted.weight)};
    long long sum = 0;
    for (const std::vector<long long>& of_family : counts) {
      cells.push_back(format_count(of_family[i]));
      sum += of_family[i];
    }
    cells.push_back(format_count(sum));
    all += sum;
    table.add(std::move(cells));
  }
  const TuneOptions& tune = prepared.tune;
  fmt::print("{}\n{}, {} candidates on {}; strategy {}{}{}\n", table.text(stdout_width()),
             count_of(prepared.workload.problems.size(), "problem"), format_count(all), on, tune.strategy,
             tune.max_candidates > 0 ? fmt::format(", at most {} a problem", tune.max_candidates) : "",
             tune.budget.count() > 0 ? fmt::format(", budget {}", format_seconds(tune.budget.count())) : "");
}

}  // namespace

void print_dry_run(const PreparedTune& prepared) {
  std::map<std::string, std::vector<TuneDevice>> by_arch;  // what can run is the architecture's to say
  for (const TuneDevice& device : prepared.devices) by_arch[device.limits.arch].push_back(device);
  for (const auto& [arch, devices] : by_arch) {
    const std::string on = devices.size() > 1 ? fmt::format("{} devices of {}", devices.size(), arch) : arch;
    print_for(prepared, devices.front().limits, on);
  }
}

}  // namespace tilesmith::tuner
