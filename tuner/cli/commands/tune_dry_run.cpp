// tilesmith tune --dry-run: how much there would be to try.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <unordered_map>

#include "kernels/families/space.hpp"
#include "tuner/cli/commands/tune_command.hpp"
#include "tuner/figures.hpp"
#include "tuner/warm_start/initial_configs.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kCountColumns = 11;

/// A line now: a workload may have thousands of problems, and a space takes up to a second to count.
void print_now(const std::string& first, std::size_t width, const std::vector<std::string>& cells) {
  fmt::print("{:<{}}", first, width);
  for (const std::string& cell : cells) fmt::print("  {:>{}}", cell, kCountColumns);
  fmt::print("\n");
  std::fflush(stdout);
}

void print_problems(const Workload& workload) {
  std::size_t width = 0;
  for (const auto& [problem, weight] : workload.tasks) width = std::max(width, text(problem).size());
  print_now("problem", width, {"weight"});
  for (const auto& [problem, weight] : workload.tasks) print_now(text(problem), width, {fmt::format("{:g}", weight)});
}

/// What is legal depends on the signature alone. What a problem's own sizes and alignment rule out is not counted: that
/// takes as long for each problem as the whole space of its signature.
void print_for(const PreparedTune& prepared, const DeviceLimits& limits, const std::string& on) {
  const std::vector<const Family*> chosen = families_named(prepared.tune.families);
  const std::vector<WeightedTask>& problems = prepared.workload.tasks;
  std::vector<std::pair<const Problem*, std::size_t>> signatures;  // one of its problems, and how many there are
  std::unordered_map<std::string, std::size_t> seen;
  std::size_t width = 0;
  long long all = 0;
  for (const auto& [task, weight] : problems) {
    if (!task.is_gemm()) {
      const own::Kernel& kernel = *own::find_kernel(task.kernel().kernel);
      const auto legal = (long long)(kernel.space(task.kernel(), limits).configs.size());
      fmt::print("\n{}: {} legal configs", text(task), format_count(legal));
      all += legal;
      continue;
    }
    const Problem& problem = task.problem();
    const std::string signature = text(problem.signature());
    width = std::max(width, signature.size());
    const auto [known, is_new] = seen.emplace(signature, signatures.size());
    if (is_new) signatures.emplace_back(&problem, 0);
    ++signatures[known->second].second;
  }
  std::vector<std::string> titles{"problems"};
  for (const Family* family : chosen) titles.emplace_back(family->name());
  titles.emplace_back("configs");
  fmt::print("\n");
  if (!signatures.empty()) print_now("legal for", width, titles);
  for (const auto& [problem, count] : signatures) {
    std::vector<std::string> cells{format_count(count)};
    long long sum = 0;
    for (const Family* family : chosen) {
      const std::int64_t legal = count_legal(*family, {*problem, limits});
      cells.push_back(format_count(legal));
      sum += legal;
    }
    cells.push_back(format_count(sum));
    print_now(text(problem->signature()), width, cells);
    all += sum * (long long)(count);
  }
  const TuneOptions& tune = prepared.tune;
  fmt::print("\n{}, at most {} candidates on {}; strategy {}{}{}\n", count_of(problems.size(), "problem"),
      format_count(all), on, tune.strategy,
      tune.max_candidates > 0 ? fmt::format(", at most {} a problem", tune.max_candidates) : "",
      tune.budget.count() > 0 ? fmt::format(", budget {}", format_seconds(tune.budget.count())) : "");
}

}  // namespace

void print_dry_run(const PreparedTune& prepared) {
  std::map<std::string, std::vector<TuneDevice>> by_arch;  // what can run is the architecture's to say
  for (const TuneDevice& device : prepared.devices) by_arch[device.limits.arch].push_back(device);
  print_problems(prepared.workload);
  for (const auto& [arch, devices] : by_arch) {
    const std::string on = devices.size() > 1 ? fmt::format("{} devices of {}", devices.size(), arch) : arch;
    print_for(prepared, devices.front().limits, on);
  }
}

}  // namespace tilesmith::tuner
