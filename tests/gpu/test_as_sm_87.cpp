// The code an Orin runs, proven on whatever later device is here: `--as sm_87`.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>

#include "db/store.hpp"
#include "runtime/device.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/drill_family.hpp"
#include "tuner/commands/sample.hpp"
#include "tuner/device_evaluator.hpp"
#include "tuner/tune.hpp"
#include "tuner/verify_all.hpp"

using namespace tilesmith;

namespace {

constexpr std::size_t kConfigs = 6;  // at most, of a family, type pair and transposes: the best guesses, then a spread
constexpr double kEnoughSeconds = 35;

/// sm_87; on an older device, which cannot run that, its own architecture's virtual one.
std::string arch_to_run_as() {
  const DeviceLimits limits = runtime::device_info(0).limits;
  return limits.sm >= 87 ? "sm_87" : limits.arch;
}

/// Of one family, type pair and transposes.
using Group = std::vector<tuner::CompileJob>;

std::string name_of(const tuner::CompileJob& job) {
  return fmt::format("{} {} {}", job.config.family(), job.target.type.name, name(job.target.trans));
}

Group make_group(const Family& family, const KernelTarget& target) {
  std::vector<Config> first = family.seeds(target, ordinary_problem(target));
  if (first.size() > kConfigs / 2) first.resize(kConfigs / 2);
  Group group;
  for (const Config& config : tuner::spread_sample(enumerate_space(family, target), first, kConfigs, 1)) {
    group.push_back({config, target});
  }
  return group;
}

/// By type pair: batteries of a type pair's transposes lie on the device together.
std::vector<std::vector<Group>> make_groups(const DeviceLimits& limits) {
  std::vector<std::vector<std::future<Group>>> making;
  for (const TypePair& type : type_pairs()) {
    auto& of_type = making.emplace_back();
    for (Transposes trans : kAllTransposes) {
      for (const auto& family : families()) {
        const KernelTarget target{type, trans, limits};
        if (!family->supports(target) || template_hash(family->name()).rfind("unhashed", 0) == 0) continue;
        of_type.push_back(std::async(std::launch::async, make_group, std::cref(*family), target));
      }
    }
  }
  std::vector<std::vector<Group>> made;
  for (auto& of_type : making) {
    auto& groups = made.emplace_back();
    for (auto& group : of_type) groups.push_back(group.get());
  }
  return made;
}

/// The first config of every group of a type pair, then the second of each, and so on while the type pair's share of the time
/// lasts; then the next type pair. So every group has one, and slow devices check fewer.
class JobsInTime {
 public:
  explicit JobsInTime(const std::vector<std::vector<Group>>& groups) : groups_(groups) {}

  std::optional<tuner::CompileJob> next() {
    for (; type_ < groups_.size(); ++type_, round_ = 0, group_ = 0) {
      for (; round_ < kConfigs && (round_ == 0 || group_ > 0 || in_time()); ++round_, group_ = 0) {
        while (group_ < groups_[type_].size()) {
          const Group& group = groups_[type_][group_++];
          if (round_ < group.size()) return group[round_];
        }
      }
    }
    return std::nullopt;
  }

 private:
  bool in_time() const {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began_;
    return taken.count() < kEnoughSeconds * double(type_ + 1) / double(groups_.size());
  }

  const std::vector<std::vector<Group>>& groups_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::size_t type_ = 0, round_ = 0, group_ = 0;
};

}  // namespace

TEST_CASE("a sample of every family passes the battery as sm_87, for every type pair and transposes", "[as]") {
  const std::string arch = arch_to_run_as();
  const runtime::Context context(0, arch);
  const DeviceLimits& limits = context.info().limits;
  REQUIRE(limits.arch == "compute_" + arch.substr(3));
  REQUIRE(limits.smem_per_block_bytes <= limits_for_arch(arch)->smem_per_block_bytes);

  const std::vector<std::vector<Group>> groups = make_groups(limits);
  std::map<std::string, int> right;  // every group is in it from the start: one that is passed by is a failure
  for (const auto& of_type : groups) {
    CHECK_FALSE(of_type.empty());
    for (const Group& group : of_type) {
      REQUIRE_FALSE(group.empty());
      right.emplace(name_of(group.front()), 0);
    }
  }
  REQUIRE(right.size() >= type_pairs().size() * std::size(kAllTransposes));

  JobsInTime jobs(groups);
  const std::atomic<bool> stop{false};
  tuner::verify_all(
      context, [&] { return jobs.next(); }, 0,
      [&](const tuner::CompileJob& job, const db::Outcome& outcome) {
        INFO(name_of(job) << " " << job.config.text() << ": " << outcome.message);
        CHECK(db::name(outcome.status) == db::name(db::Status::ok));
        if (outcome.status == db::Status::ok) ++right[name_of(job)];
      },
      stop);
  for (const auto& [group, count] : right) {
    INFO(group);
    CHECK(count > 0);
  }
}

TEST_CASE("verifying many kernels, as sm_87 too, tells each one's fault and goes on", "[as]") {
  const test::DrillEnabled drill;
  const std::string as = GENERATE(std::string(), arch_to_run_as());
  const runtime::Context context(0, as);
  const KernelTarget target{*find_type_pair("f64f64"), {}, context.info().limits};
  const std::map<std::string, db::Status> expected{
      {test::drill_config(test::kDrillCompileError).text(), db::Status::compile_failed},
      {test::drill_config(test::kDrillTooBig).text(), db::Status::launch_failed},
      {test::drill_config(test::kDrillWrong).text(), db::Status::mismatch},
      {test::drill_config(test::kDrillOk).text(), db::Status::ok},
      {"nothing{}", db::Status::illegal}};
  std::map<std::string, db::Outcome> outcomes;
  auto next = expected.begin();
  const std::atomic<bool> stop{false};
  tuner::verify_all(
      context,
      [&]() -> std::optional<tuner::CompileJob> {
        if (next == expected.end()) return std::nullopt;
        return tuner::CompileJob{*Config::parse((next++)->first), target};
      },
      2, [&](const tuner::CompileJob& job, const db::Outcome& outcome) { outcomes[job.config.text()] = outcome; },
      stop);
  REQUIRE(outcomes.size() == expected.size());
  for (const auto& [config, status] : expected) {
    INFO(config << ": " << outcomes.at(config).message);
    CHECK(db::name(outcomes.at(config).status) == db::name(status));
  }
}

TEST_CASE("a device tuned as sm_87 keeps evidence that it never takes for its own", "[as]") {
  db::Store store = db::Store::in_memory();
  tuner::DeviceEvaluatorOptions device;
  device.as = arch_to_run_as();
  device.compile_jobs = 4;
  const tuner::Workload workload{"as", {{packed_problem(*find_type_pair("f16f32"), {}, 512, 384, 256), 1}}};
  const std::atomic<bool> stop{false};
  tuner::TuneOptions options;
  options.families = {"simt"};
  options.max_candidates = 4;
  options.finalists = 2;
  const auto as = tuner::make_device_evaluator(store, device);
  const tuner::TuneResult result = tuner::tune(workload, options, *as, store, {}, stop);
  CHECK(result.evaluated == 4);
  CHECK(result.failed == 0);

  db::EvidenceFilter filter;
  filter.device_exactly = as->device();
  REQUIRE(store.best(filter).size() == 1);
  CHECK(store.best(filter).front().evidence.producer.compiler_options.find("compute_") != std::string::npos);

  device.as.clear();
  const auto itself = tuner::make_device_evaluator(store, device);
  filter.device_exactly = itself->device();
  CHECK(store.best(filter).empty());
  CHECK(tuner::tune(workload, options, *itself, store, {}, stop).reused == 0);
  REQUIRE(store.best(filter).size() == 1);
  CHECK(store.best().size() == 2);
}
