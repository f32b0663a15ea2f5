#include "runtime/choose/own_chooser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "runtime/choose/choosers.hpp"

namespace tilesmith::runtime {
namespace {

constexpr double kUnknownSlowdown = 2;

double doublings_apart(const SizedKernel& a, const SizedKernel& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.sizes.size(); ++i)
    sum += std::abs(std::log2(double(a.sizes[i].second) / double(b.sizes[i].second)));
  return sum;
}

double us_of(const db::Judged& one) { return one.entry->outcome.timing->median_us; }

/// The first in the order of kernel.json.
std::optional<Config> first_legal(const own::Kernel& kernel, const SizedKernel& sized, const DeviceLimits& limits) {
  const std::vector<Parameter>& parameters = kernel.definition().parameters;
  std::vector<std::size_t> at(parameters.size());
  while (true) {
    std::vector<Config::Value> values;
    for (std::size_t i = 0; i < at.size(); ++i) values.emplace_back(parameters[i].name, parameters[i].values[at[i]]);
    Config config(kernel.name(), std::move(values));
    if (!kernel.refused_because(config, sized, limits)) return config;
    std::size_t i = at.size();
    while (i > 0 && ++at[i - 1] == parameters[i - 1].values.size()) at[--i] = 0;
    if (i == 0) return std::nullopt;
  }
}

}  // namespace

OwnChooser::OwnChooser(std::vector<db::Record> entries, const own::Kernel& kernel, const DeviceInfo& device)
    : kernel_(kernel),
      device_(device.identity),
      limits_(device.limits),
      entries_(std::move(entries)),
      now_(environment_to_judge_by(entries_, kernel.name(), device_, {{}, limits_}, device.driver_version)),
      ranked_(db::rank(entries_, [&](const db::Record&) { return now_; })) {
  std::erase_if(
      ranked_, [&](const db::RankedTask& one) { return kernel.sizes_error(one.task().kernel()).has_value(); });
}

std::vector<OwnChooser::Measured> OwnChooser::measured(const SizedKernel& sized) const {
  std::vector<Measured> found;
  std::vector<std::pair<double, const db::RankedTask*>> others;
  std::set<std::string> failed;
  for (const db::RankedTask& one : ranked_) {
    for (const db::Record* entry : one.failed) failed.insert(entry->config.text());
    if (one.task() == Task(sized) && one.device() == device_) {
      for (const db::Judged& entry : one.best)
        found.push_back({&entry, Level::exact, fmt::format("measured at these sizes: {:.2f} us", us_of(entry))});
    } else if (!one.best.empty()) {
      others.emplace_back(doublings_apart(one.task().kernel(), sized) + (one.device() == device_ ? 0 : 1), &one);
    }
  }
  std::ranges::stable_sort(others, {}, [](const auto& other) { return other.first; });
  struct Score {
    double saved = 0;  // of the slowdown that an unmeasured one has, by weight
    const db::Judged* nearest = nullptr;
  };
  std::map<std::string, Score> scores;
  for (const auto& [far, other] : others) {
    const double weight = std::exp2(-2 * (far - others.front().first)),
                 fastest = us_of(*std::ranges::min_element(other->best, {}, us_of));
    for (const db::Judged& entry : other->best) {
      Score& score = scores[entry.entry->config.text()];
      score.saved += weight * std::max(0.0, kUnknownSlowdown - us_of(entry) / fastest);
      if (score.nearest == nullptr) score.nearest = &entry;
    }
  }
  std::erase_if(scores, [&](const auto& one) { return failed.contains(one.first); });
  std::vector<Score> ordered;
  for (const auto& [config, score] : scores) ordered.push_back(score);
  std::ranges::stable_sort(ordered, std::greater(), &Score::saved);
  for (const Score& one : ordered) {
    found.push_back({one.nearest, Level::model,
        fmt::format(
            "by records of {} other {}, the nearest first", others.size(), others.size() == 1 ? "task" : "tasks")});
  }
  return found;
}

std::vector<Choice> OwnChooser::choices(const SizedKernel& sized) const {
  std::vector<Choice> found;
  std::set<std::string> seen;
  for (const Measured& one : measured(sized)) {
    const db::Record& record = *one.entry->entry;
    if (found.size() == kMostMeasured) break;
    if (!seen.insert(record.config.text()).second || kernel_.refused_because(record.config, sized, limits_)) continue;
    found.push_back({record.config, one.level, one.reason, 0, record, one.entry->trust, now_, {}});
  }
  const std::optional<Config> first = first_legal(kernel_, sized, limits_);
  if (first && seen.insert(first->text()).second) {
    found.emplace_back().config = *first;
    found.back().reason = "nothing was measured that can run at these sizes: the first legal config of kernel.json";
  }
  return found;
}

}  // namespace tilesmith::runtime
