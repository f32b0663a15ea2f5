#include "tuner/loop/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>

#include "runtime/choose/catalogue.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/plan/plan.hpp"
#include "tuner/measure/cublaslt_peer.hpp"
#include "tuner/measure/operand_sets.hpp"
#include "tuner/measure/random_fill.hpp"
#include "tuner/measure/read_peer.hpp"
#include "tuner/measure/stopwatch.hpp"
#include "tuner/measure/timing_policy.hpp"
#include "tuner/verify/verifier.hpp"

namespace tilesmith::tuner {
namespace {

// Of the peer's algorithms, so many of the fastest go on to the interleaved run.
constexpr std::size_t kPeerFinalists = 4;

/// A verified plan with the workspace it runs in.
struct Runnable {
  std::unique_ptr<runtime::Plan> plan;
  runtime::DeviceBuffer workspace;
};

}  // namespace

struct BenchSession::Impl {
  runtime::Context context;
  const db::Store* store;
  Verifier verifier;
  Stopwatch stopwatch;
  std::optional<Stopwatch> in_rows;
  RandomFill random;
  std::unique_ptr<CublasLtPeer> peer;
  std::unique_ptr<ReadPeer> read;
  std::vector<db::Record> records;  ///< to choose by for record_type
  std::optional<TypePair> record_type;
  std::optional<runtime::Chooser> chooser;                            ///< goes by `records`
  std::string chooser_key;                                            ///< type pair and transposes
  std::map<std::string, std::shared_future<db::KernelBuild>> builds;  ///< by signature and config

  Impl(int device, std::string_view as, const db::Store* used_store, const std::string& peer_name, bool rows)
      : context(device, as), store(used_store), verifier(context), stopwatch(context), random(context) {
    TimingPolicy policy;
    policy.before = Before::like_launch;
    policy.clock_probe_start_us = stopwatch.clock_probe_us();
    if (rows) in_rows.emplace(context, policy);
    if (peer_name == "cublaslt") peer = std::make_unique<CublasLtPeer>(context);
    if (peer_name == "read") read = std::make_unique<ReadPeer>(context);
  }

  KernelTarget target(const Problem& problem) const { return {problem, context.info().limits}; }

  db::Environment environment(const KernelTarget& kernel_target) const {
    return {runtime::compiler_options_text(kernel_target), runtime::nvrtc_version(), context.info().driver_version,
        kMeasuringPolicy};
  }

  /// Stored, compiled, or being compiled from now on.
  std::shared_future<db::KernelBuild> build(const Config& config, const KernelTarget& kernel_target) {
    const auto [at, is_new] = builds.try_emplace(text(kernel_target.signature()) + ' ' + config.text());
    if (!is_new) return at->second;
    auto stored = store != nullptr ? store->find_build(runtime::kernel_key(config, kernel_target)) : std::nullopt;
    const auto make = [config, kernel_target, stored = std::move(stored)] {
      return stored ? *stored : runtime::compile(config, kernel_target);
    };
    at->second = std::async(std::launch::async, make).share();
    return at->second;
  }

  /// Kept for the next problem of the type pair and transposes.
  const runtime::Chooser& chooser_for(const KernelTarget& kernel_target) {
    const std::string key = text(kernel_target.signature());
    if (key == chooser_key) return *chooser;
    const runtime::DeviceInfo& here = context.info();
    if (store != nullptr && record_type != kernel_target.type)
      records = runtime::records_to_choose_by(*store, kernel_target.type, here.identity.sm);
    record_type = kernel_target.type;
    chooser.emplace(
        records, kernel_target, [&](const std::string&) { return environment(kernel_target); }, &here.identity);
    chooser_key = key;
    return *chooser;
  }

  std::optional<std::string> refused(const Config& config, const Problem& problem) const {
    const Family* family = find_family(config.family());
    if (family == nullptr) return fmt::format("no family '{}'", config.family());
    if (auto reason = illegal_because(*family, config, target(problem))) return reason;
    return refused_because(*family, config, problem);
  }

  /// Compiles, loads and verifies. `runnable` is set only when the outcome is ok.
  db::Outcome prepare(const Config& config, const Problem& problem, Runnable& runnable) {
    const KernelTarget kernel_target = target(problem);
    if (auto reason = refused(config, problem)) return {db::Status::illegal, *reason, {}};
    const db::KernelBuild built = build(config, kernel_target).get();
    if (built.cubin.empty()) return {built.status, built.message, {}};
    const auto module = std::make_shared<const runtime::Module>(built.cubin);
    auto plan = std::make_unique<runtime::Plan>(module, config, problem);
    if (auto outcome = verifier.suite(module, config, kernel_target); outcome.status != db::Status::ok) return outcome;
    if (auto outcome = verifier.on_problem(*plan); outcome.status != db::Status::ok) return outcome;
    if (plan->workspace_bytes() > 0) runnable.workspace = runtime::DeviceBuffer(plan->workspace_bytes());
    runnable.plan = std::move(plan);
    return {db::Status::ok, "", {}};
  }

  /// The peer's first choice and its fastest others, by a first timing of each: beside the first choice while all are
  /// long.
  std::vector<Competitor> peer_finalists(const OperandSets& operands, BenchReport& report) {
    if (!peer && !read) return {};
    const std::vector<Competitor> offered = peer ? peer->competitors(operands) : read->competitors(operands);
    report.peer_algorithms = int(offered.size());
    std::vector<std::pair<double, std::size_t>> order;
    double fastest_us = 0;
    std::optional<Control> control;
    for (std::size_t i = 0; i < offered.size(); ++i) {
      const db::Outcome timed = stopwatch.time(offered[i], operands.rotation(), fastest_us, control);
      if (!timed.timing) continue;
      const double us = timed.timing->median_us;
      if (fastest_us == 0 || us < fastest_us) fastest_us = us;
      if (i == 0) control = Control{offered[0], us};
      if (is_short(fastest_us)) control.reset();
      order.emplace_back(us, i);
    }
    std::sort(order.begin(), order.end());
    std::vector<Competitor> finalists;
    if (!offered.empty()) finalists.push_back(offered.front());
    for (const auto& [us, i] : order) {
      if (i != 0 && finalists.size() < kPeerFinalists + 1) finalists.push_back(offered[i]);
    }
    return finalists;
  }

  /// Of each competitor; none where rows were not asked for, or launches are not short.
  std::vector<std::optional<double>> rows_of(
      const std::vector<Competitor>& competitors, const std::vector<db::Outcome>& played, const OperandSets& operands) {
    std::vector<std::optional<double>> row_us(competitors.size());
    const bool any_short = std::ranges::any_of(
        played, [](const db::Outcome& outcome) { return outcome.timing && is_short(outcome.timing->median_us); });
    if (!in_rows || !any_short) return row_us;
    const std::vector<db::Outcome> again = in_rows->final_benchmark(competitors, operands.rotation());
    for (std::size_t i = 0; i < again.size(); ++i) {
      if (again[i].timing) row_us[i] = again[i].timing->median_us;
    }
    return row_us;
  }
};

BenchSession::BenchSession(int device, std::string_view as, const db::Store* store, const std::string& peer, bool rows)
    : impl_(std::make_unique<Impl>(device, as, store, peer, rows)) {}
BenchSession::~BenchSession() = default;

const runtime::DeviceInfo& BenchSession::device() const { return impl_->context.info(); }
std::string BenchSession::peer_name() const { return impl_->peer ? "cuBLASLt" : impl_->read ? "read" : ""; }
std::string BenchSession::peer_version() const { return impl_->peer ? impl_->peer->version() : ""; }

runtime::Choice BenchSession::choice(const Problem& problem) const {
  return impl_->chooser_for(impl_->target(problem)).choose(problem);
}

void BenchSession::compile_ahead(const Problem& problem, const std::vector<BenchCompetitor>& ours) {
  for (const BenchCompetitor& competitor : ours) {
    if (!impl_->refused(competitor.config, problem)) impl_->build(competitor.config, impl_->target(problem));
  }
}

int BenchSession::compiling() const {
  return int(std::ranges::count_if(impl_->builds,
      [](const auto& entry) { return entry.second.wait_for(std::chrono::seconds(0)) != std::future_status::ready; }));
}

BenchReport BenchSession::run(const Problem& problem, const std::vector<BenchCompetitor>& ours) {
  BenchReport report;
  report.problem = problem;
  const OperandSets operands(impl_->random, problem);

  std::vector<Runnable> runnables(ours.size());
  std::vector<Competitor> competitors;
  std::vector<std::size_t> place(ours.size());  // of each runnable among the competitors
  for (std::size_t i = 0; i < ours.size(); ++i) {
    report.ours.push_back({ours[i], impl_->prepare(ours[i].config, problem, runnables[i])});
    if (!runnables[i].plan) continue;
    place[i] = competitors.size();
    competitors.push_back(Stopwatch::competitor(*runnables[i].plan, operands, runnables[i].workspace.data()));
  }
  const std::size_t first_peer = competitors.size();
  for (Competitor& finalist : impl_->peer_finalists(operands, report)) competitors.push_back(std::move(finalist));
  if (competitors.empty()) return report;

  const std::vector<db::Outcome> played = impl_->stopwatch.final_benchmark(competitors, operands.rotation());
  const std::vector<std::optional<double>> row_us = impl_->rows_of(competitors, played, operands);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!runnables[i].plan) continue;
    report.ours[i].outcome = played[place[i]];
    report.ours[i].row_us = row_us[place[i]];
  }
  for (std::size_t i = first_peer; i < played.size(); ++i) {
    const std::optional<db::Timing>& timing = played[i].timing;
    if (i == first_peer) report.peer_first = timing;
    if (timing && (!report.peer_best || timing->median_us < report.peer_best->median_us)) report.peer_best = timing;
    if (row_us[i] && (!report.peer_row_us || *row_us[i] < *report.peer_row_us)) report.peer_row_us = row_us[i];
  }
  return report;
}

std::vector<BenchCompetitor> ladder_competitors(const KernelTarget& target) {
  std::vector<BenchCompetitor> steps;
  for (const auto& family : families()) {
    for (const NamedConfig& step : family->ladder(target)) steps.push_back({step.name, step.config});
  }
  return steps;
}

}  // namespace tilesmith::tuner
