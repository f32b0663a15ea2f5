#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_set>

#include "db/store/ranked.hpp"
#include "kernels/base/on_all_cores.hpp"
#include "runtime/choose/catalogue.hpp"
#include "tuner/bests/bundle_kernels.hpp"
#include "tuner/bests/make_bundle.hpp"
#include "tuner/exit_status.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::int64_t kExtents[] = {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};  // of M and N
constexpr std::int64_t kDepths[] = {64, 256, 1024, 4096, 16384};
constexpr std::int64_t kPoolExtents[] = {
    1, 16, 128, 1024, 4096};  // where candidates are asked for: initial configs take long
constexpr std::int64_t kPoolDepths[] = {256, 2048, 16384};
constexpr std::size_t kOfShape = 6;    // candidates of each
constexpr double kUnservedLoss = 3.4;  // ln: as if it took thirty times as long
constexpr double kLeastGain = 5e-4;    // ln, on the mean: what another kernel has to bring

/// Shapes of these extents, and of one less each, so that no row but those of a single column is aligned.
template <typename Extents, typename Depths>
std::vector<Problem> shapes(const KernelTarget& target, const Extents& extents, const Depths& depths) {
  std::vector<Problem> found;
  for (const std::int64_t m : extents) {
    for (const std::int64_t n : extents) {
      for (const std::int64_t k : depths) {
        found.push_back(packed_problem(target, m, n, k));
        found.push_back(
            packed_problem(target, std::max<std::int64_t>(1, m - 1), std::max<std::int64_t>(1, n - 1), k - 1));
      }
    }
  }
  return found;
}

std::vector<Config> pool_of(const runtime::Chooser& chooser, const KernelTarget& target, const std::atomic<bool>& stop,
    const std::function<void(std::size_t)>& on_shape) {
  const std::vector<Problem> problems = shapes(target, kPoolExtents, kPoolDepths);
  std::vector<std::vector<runtime::Choice::RunnerUp>> ranked(problems.size());
  on_all_cores(problems.size(), [&](std::size_t i) {
    if (stop) return;
    ranked[i] = chooser.candidates(problems[i], kOfShape);
    on_shape(problems.size());
  });
  std::vector<Config> pool;
  std::unordered_set<std::string> seen;
  for (const auto& of_shape : ranked) {
    for (const runtime::Choice::RunnerUp& one : of_shape) {
      if (!one.last_resort && seen.insert(one.config.text()).second) pool.push_back(one.config);
    }
  }
  return pool;
}

constexpr double kNearBest = 1.1;       // of a problem's best time, for a measurement that a choice may take as exact
constexpr std::size_t kSearched = 150;  // steps of progress that choosing a cover takes, about

struct KernelWanted {
  Config config;
  KernelTarget target;
  bool generic = false;
};

/// Measurements of the chosen kernels on this device.
void add_record(const std::vector<db::Record>& entries, const KernelTarget& target, const TargetDevice& device,
    const std::set<std::string>& chosen, db::Bundle& bundle) {
  const auto now = [&](const db::Record& entry) {
    return environment_to_judge_by(entries, entry.config.family(), device);
  };
  for (const db::RankedTask& one : db::rank(entries, now)) {
    if (!(one.problem().signature() == target.signature()) || !(one.device() == device.identity)) continue;
    for (const db::Judged& judged : one.best) {
      const double best_us = one.best.front().entry->outcome.timing->median_us;
      if (judged.entry->outcome.timing->median_us <= kNearBest * best_us &&
          chosen.contains(judged.entry->config.text()))
        bundle.bests.push_back(*judged.entry);
    }
  }
}

}  // namespace

std::vector<Problem> cover_grid(const KernelTarget& target) { return shapes(target, kExtents, kDepths); }

Cover choose_cover(const runtime::Chooser& chooser, const KernelTarget& target, std::size_t most,
    const std::atomic<bool>& stop, const std::function<void(std::size_t)>& on_shape) {
  const std::vector<Config> pool = pool_of(chooser, target, stop, on_shape);
  Cover cover;
  if (stop || pool.empty()) return cover;
  const std::vector<Problem> grid = cover_grid(target);
  std::vector<std::vector<double>> losses(grid.size());  // ln of time over the best time, by shape and config
  on_all_cores(grid.size(), [&](std::size_t i) {
    std::vector<double> times = chooser.predict(grid[i], pool);
    const double best = *std::min_element(times.begin(), times.end());
    for (double& time : times)
      time = std::isfinite(time) ? std::min(std::log(time / best), kUnservedLoss) : kUnservedLoss;
    losses[i] = std::move(times);
  });

  std::vector<double> loss(grid.size(), kUnservedLoss);  // by shape, with what was chosen so far
  std::vector<bool> chosen(pool.size());
  while (cover.configs.size() < most) {
    std::size_t best = 0;
    double most_gain = -1;
    for (std::size_t c = 0; c < pool.size(); ++c) {
      if (chosen[c]) continue;
      double gain = 0;
      for (std::size_t i = 0; i < grid.size(); ++i) gain += std::max(0.0, loss[i] - losses[i][c]);
      if (gain > most_gain) most_gain = gain, best = c;
    }
    if (most_gain < kLeastGain * double(grid.size())) break;
    chosen[best] = true;
    cover.configs.push_back(pool[best]);
    for (std::size_t i = 0; i < grid.size(); ++i) loss[i] = std::min(loss[i], losses[i][best]);
  }
  cover.mean_of_best = std::exp(-std::accumulate(loss.begin(), loss.end(), 0.0) / double(grid.size()));
  cover.worst_of_best = std::exp(-std::ranges::max(loss));
  return cover;
}

db::Bundle make_cover_bundle(const db::Store* store, const TargetDevice& device, const CoverOptions& options,
    CoverReport& report, const std::atomic<bool>& stop, const std::function<void(std::size_t, std::size_t)>& on_step) {
  std::vector<TypePair> types = options.types;
  std::vector<Transposes> trans = options.trans;
  if (types.empty()) types.assign(type_pairs().begin(), type_pairs().end());
  if (trans.empty()) trans.assign(std::begin(kAllTransposes), std::end(kAllTransposes));
  const bool known_device = !device.identity.name.empty();

  db::Bundle bundle;
  bundle.device = device.identity;
  if (!known_device) bundle.device.name = fmt::format("any {}", device.limits.arch);
  bundle.arch = device.limits.arch;
  bundle.made_at = db::now_utc();

  const std::size_t total = types.size() * trans.size() * (kSearched + options.max_kernels + 1);
  std::atomic<std::size_t> done{0};
  std::vector<KernelWanted> wanted;
  for (const TypePair& type : types) {
    const std::vector<db::Record> entries =
        store == nullptr ? std::vector<db::Record>() : runtime::records_to_choose_by(*store, type, device.limits.sm);
    for (const Transposes one : trans) {
      const KernelTarget target{{type, one}, device.limits};
      const runtime::Chooser chooser(
          entries, target, [&](const std::string& family) { return environment_to_judge_by(entries, family, device); },
          known_device ? &device.identity : nullptr);
      const Cover cover = choose_cover(
          chooser, target, options.max_kernels, stop, [&](std::size_t) { on_step(std::min(++done, total), total); });
      if (stop) return bundle;
      std::set<std::string> chosen;
      for (const Config& config : cover.configs) {
        wanted.push_back({config, target});
        chosen.insert(config.text());
      }
      wanted.push_back({generic_config(target), target, true});
      if (known_device) add_record(entries, target, device, chosen, bundle);
      report.rows.push_back({std::string(type.name), std::string(name(one)), cover.configs.size(), cover.mean_of_best,
          cover.worst_of_best});
    }
  }

  BundleKernels kernels(store);
  std::vector<std::string> why_not(wanted.size());
  on_all_cores(wanted.size(), [&](std::size_t i) {
    if (stop) return;
    // A kernel that spills is better than none as the generic one, and elsewhere has no predicted time.
    using enum BundleKernels::Spilled;
    why_not[i] = kernels.add(wanted[i].config, wanted[i].target, wanted[i].generic ? taken : refused);
    on_step(std::min(++done, total), total);
  });
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (why_not[i].empty()) continue;
    const std::string what =
        fmt::format("{} {} {}", wanted[i].target.type.name, name(wanted[i].target.trans), wanted[i].config.text());
    if (wanted[i].generic)
      throw UsageError(fmt::format("--cover: the generic kernel {} is missing: {}", what, why_not[i]));
    ++report.without_kernel;
    spdlog::warn("{} is left out: {}", what, why_not[i]);
  }
  std::erase_if(bundle.bests, [&](const db::Record& entry) {
    return !kernels.has(entry.config, {entry.task.problem(), device.limits});
  });
  report.compiled = kernels.compiled_count();
  if (store != nullptr) bundle.vendor = vendor_beside(*store, bundle.bests);
  bundle.builds = kernels.take();
  return bundle;
}

}  // namespace tilesmith::tuner
