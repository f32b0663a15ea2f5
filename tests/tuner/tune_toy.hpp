// A family without kernels and an evaluator without a device: cost is a formula, so that the tune loop and the
// strategies can be tested for what they do.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/families/family.hpp"
#include "kernels/families/space.hpp"
#include "tuner/evaluator.hpp"
#include "tuner/loop/tune.hpp"

namespace tilesmith::tuner::toy {

inline constexpr const char* kArch = "toy_arch";

/// 8 × 8 × 4 configs less those with x·y > 48. Supports only its own architecture, so that nobody else meets it.
class ToyFamily : public Family {
 public:
  std::string_view name() const override { return "toy"; }
  std::string_view summary() const override { return "no kernels"; }
  bool supports(const KernelTarget& target) const override { return target.limits.arch == kArch; }
  std::vector<Parameter> parameters(const KernelTarget&) const override {
    return {{"x", {1, 2, 3, 4, 5, 6, 7, 8}, "x"}, {"y", {1, 2, 3, 4, 5, 6, 7, 8}, "y"}, {"z", {1, 2, 4, 8}, "z"}};
  }
  std::vector<Rule> rules(const KernelTarget&) const override {
    ++rules_asked;
    return {{"area", "too large", [](const Config& c) { return c.at("x") * c.at("y") <= 48; }}};
  }
  std::optional<std::string> refusal(const Config& config, const Problem& problem) const override {
    if (problem.m % 2 != 0 && config.at("z") == 8) return "z = 8 wants even M";
    return std::nullopt;
  }
  LaunchSequence launches(const Config& config, const Problem& problem) const override {
    Launch launch;
    launch.grid = {unsigned(problem.m), unsigned(config.at("x")), 1};
    return {{launch}, 0};
  }
  std::string source(const Config&, const KernelTarget&) const override { return ""; }
  std::vector<NamedConfig> ladder(const KernelTarget&) const override {
    return {{"slow step", config(1, 1, 1)}, {"fast step", config(2, 2, 1)}};
  }
  std::vector<Config> initial_configs(const KernelTarget&, const Problem&) const override {
    return {config(4, 4, 2), config(8, 8, 8)};
  }

  static inline std::atomic<int> rules_asked =
      0;  ///< where a space is enumerated, and at a target's first initial configs

  static Config config(int x, int y, int z) { return Config("toy", {{"x", x}, {"y", y}, {"z", z}}); }
};

inline void register_toy_family() {
  if (find_family("toy") == nullptr) register_family(std::make_unique<ToyFamily>());
}

inline db::Outcome ok(double median_us) {
  db::Timing timing;
  timing.median_us = median_us;
  timing.spread = 0.01;
  timing.samples = 7;
  return {db::Status::ok, "", timing};
}

class ToyEvaluator : public Evaluator {
 public:
  ToyEvaluator() {
    register_toy_family();
    identity_.name = "Toy";
    identity_.sm = 87;
    identity_.sm_count = 1;
    environment_ = {"-O", "13.0", "580", "toy-1"};
    limits_.arch = kArch;
  }
  const db::DeviceIdentity& device() const override { return identity_; }
  db::Environment environment(const std::string&) const override { return environment_; }
  const DeviceLimits& limits() const override { return limits_; }

  void submit(const Candidate& candidate, const std::optional<Incumbent>& incumbent) override {
    queue_.push_back(candidate);
    incumbents.push_back(incumbent);
    most_in_flight = std::max(most_in_flight, queue_.size());
  }
  std::size_t in_flight() const override { return queue_.size(); }
  std::size_t width() const override { return wide; }
  Evaluated next() override {  // the last submitted first: order of outcomes is nobody's to rely on
    Candidate candidate = queue_.back();
    queue_.pop_back();
    if (text(candidate.task) != last_problem_) clock += seconds_first;
    last_problem_ = text(candidate.task);
    ++nexts_;
    if (burst == 1 || nexts_ % burst == 0) clock += seconds_each * double(burst);
    ++evaluations[text(candidate.task) + candidate.config.text()];
    order.push_back(candidate.config);
    db::Outcome outcome = answers ? answers(candidate) : outcome_of(candidate.config);
    return {std::move(candidate), std::move(outcome)};
  }
  std::vector<Evaluated> drop_in_flight() override {
    queue_.clear();
    return {};
  }
  std::size_t most_announced() const override { return announces; }
  void announce(const Task& task, std::span<const Config> candidates, std::span<const Config> finalists) override {
    announced.push_back({task.problem(), {candidates.begin(), candidates.end()}, {finalists.begin(), finalists.end()}});
  }
  std::vector<db::Outcome> final_benchmark(const Task&, std::span<const Config> finalists) override {
    clock += seconds_each * double(finalists.size());
    played_off.emplace_back(finalists.begin(), finalists.end());
    std::vector<db::Outcome> outcomes;
    if (final_benchmark_fails)
      return {finalists.size(), {db::Status::timed_out, "final benchmark took too long", std::nullopt}};
    for (const Config& config : finalists)
      outcomes.push_back(ok(outcome_of(config).timing->median_us * final_benchmark_factor));
    return outcomes;
  }
  bool has_vendor() const override { return vendor.has_value() || vendor_answers; }
  BesideVendor final_benchmark_beside_vendor(
      const Task& task, std::span<const Config> finalists, const VendorAsk& ask) override {
    asked_vendor.push_back(ask.seconds);
    BesideVendor played{final_benchmark(task, finalists), std::nullopt};
    clock += seconds_vendor;
    played.vendor = vendor_answers ? vendor_answers() : vendor;
    if (!played.vendor) return played;
    played.vendor->problem = task.problem();
    played.vendor->device = identity_;
    played.vendor->driver_version = environment_.driver_version;
    played.vendor->measuring_policy = environment_.measuring_policy;
    return played;
  }
  bool knows(const Task&, const Config& config) const override { return unknown.count(config.text()) == 0; }

  /// Smallest, 10 µs, at x = 5, y = 3, z = 2.
  db::Outcome outcome_of(const Config& config) const {
    const auto planted = plants.find(config.text());
    if (planted != plants.end()) return planted->second;
    const double x = config.at("x") - 5, y = config.at("y") - 3, z = std::log2(config.at("z")) - 1;
    return ok(10 + x * x + y * y + 3 * z * z + 0.5 * x * y);
  }
  std::size_t total() const {
    std::size_t sum = 0;
    for (const auto& [key, count] : evaluations) sum += std::size_t(count);
    return sum;
  }

  db::DeviceIdentity identity_;
  db::Environment environment_;
  DeviceLimits limits_;
  std::size_t wide = 4, announces = 0;
  struct Announced {
    Problem problem;
    std::vector<Config> candidates, finalists;
  };
  std::vector<Announced> announced;
  double seconds_each = 1, clock = 1000;
  double seconds_first = 0;  // more, for the first of a problem
  std::size_t burst = 1;     // so many outcomes come at a time
  double final_benchmark_factor = 1;
  bool final_benchmark_fails = false;
  std::map<std::string, db::Outcome> plants;                       // by config text
  std::function<db::Outcome(const Candidate&)> answers;            // instead of outcome_of(), outside final benchmarks
  std::optional<db::VendorTimes> vendor;                           // what it answers of the vendor; none: it has none
  std::function<std::optional<db::VendorTimes>()> vendor_answers;  // instead
  std::vector<double> asked_vendor;                                // seconds
  double seconds_vendor = 0;                                       // of each round beside it
  std::set<std::string> unknown;                                   // config texts
  std::map<std::string, int> evaluations;                          // by problem and config text
  std::vector<Config> order;
  std::vector<std::vector<Config>> played_off;
  std::vector<std::optional<Incumbent>> incumbents;
  std::size_t most_in_flight = 0;

 private:
  std::vector<Candidate> queue_;
  std::string last_problem_;
  std::size_t nexts_ = 0;
};

inline const std::atomic<bool> kNeverStop{false};
inline const Config kOptimum = ToyFamily::config(5, 3, 2);

inline std::size_t legal_configs() {
  DeviceLimits limits;
  limits.arch = kArch;
  return enumerate_space(ToyFamily{}, {{*find_type_pair("f16f32"), {}}, limits}).configs.size();
}

inline Problem square(std::int64_t size) { return packed_problem({*find_type_pair("f16f32"), {}}, size, size, size); }

/// What that evaluator would have recorded.
inline db::Record record_of(
    const ToyEvaluator& evaluator, const Problem& problem, const Config& config, const db::Outcome& outcome) {
  db::Record record;
  record.task = problem;
  record.config = config;
  record.device = evaluator.device();
  record.environment = evaluator.environment("toy");
  record.outcome = outcome;
  return record;
}

inline Workload squares(std::initializer_list<std::int64_t> sizes) {
  Workload workload{"test", {}};
  for (const std::int64_t size : sizes) workload.tasks.push_back({square(size), 1});
  return workload;
}

inline TuneOptions options_for(ToyEvaluator& evaluator) {
  TuneOptions options;
  options.families = {"toy"};
  options.clock_seconds = [&evaluator] { return evaluator.clock; };
  return options;
}

inline TuneResult quiet_tune(
    const Workload& workload, const TuneOptions& options, ToyEvaluator& evaluator, db::Store& store) {
  return tune(workload, options, evaluator, store, {}, kNeverStop);
}

inline db::RecordFilter of_problem(const Problem& problem) {
  db::RecordFilter filter;
  filter.task = problem;
  return filter;
}

}  // namespace tilesmith::tuner::toy
