// Every family, type pair and transposes on a device: the suite over a sample that covers each space.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/driver/device.hpp"
#include "tests/built_in.hpp"
#include "tests/catch.hpp"
#include "tuner/search/sample.hpp"
#include "tuner/workers/verify_all.hpp"

namespace tilesmith::test {

/// Of one family, type pair and transposes: the best initial configs, then a spread, then the known ladder.
using Group = std::vector<tuner::CompileJob>;

inline std::string name_of(const tuner::CompileJob& job) {
  return fmt::format("{} {}", job.config.family(), text(job.target.signature()));
}

inline Group make_group(const Family& family, const KernelTarget& target, std::size_t most) {
  std::vector<Config> first = family.initial_configs(target, ordinary_problem(target));
  if (first.size() > most / 3) first.resize(most / 3);  // the rest cover the space
  Group group;
  for (const Config& config : tuner::spread_sample(enumerate_space(family, target), first, most, 1)) {
    group.push_back({config, target});
  }
  for (const NamedConfig& step : family.ladder(target)) group.push_back({step.config, target});
  return group;
}

inline KernelSignature signature_of(const std::string& text) {
  std::string error;
  const auto found = parse_signature(text, error);
  INFO(text << ": " << error);
  REQUIRE(found);
  return *found;
}

/// By type pair: suites of a type pair's transposes lie on the device together.
using Signatures = std::vector<std::vector<KernelSignature>>;

inline Signatures plain_signatures() {
  Signatures all;
  for (const TypePair& type : type_pairs()) {
    auto& of_type = all.emplace_back();
    for (const Transposes trans : kAllTransposes) of_type.push_back({type, trans});
  }
  return all;
}

inline std::vector<std::vector<Group>> make_groups(
    const Signatures& signatures, const DeviceLimits& limits, std::size_t most) {
  std::vector<std::vector<std::future<Group>>> making;
  for (const auto& together : signatures) {
    auto& of_type = making.emplace_back();
    for (const KernelSignature& signature : together) {
      for (const auto& family : families()) {
        const KernelTarget target{signature, limits};
        if (!family->supports(target) || !tests::is_built_in(*family)) continue;
        of_type.push_back(std::async(std::launch::async, make_group, std::cref(*family), target, most));
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

/// The first config of every group of a type pair, then the second of each, and so on while the type pair's share of
/// the time lasts; then the next type pair. So every group has one, and slow devices check fewer.
class JobsInTime {
 public:
  JobsInTime(const std::vector<std::vector<Group>>& groups, double enough_seconds)
      : groups_(groups), enough_seconds_(enough_seconds) {
    for (const auto& of_type : groups) {
      for (const Group& group : of_type) most_ = std::max(most_, group.size());
    }
  }

  std::optional<tuner::CompileJob> next() {
    for (; type_ < groups_.size(); ++type_, round_ = 0, group_ = 0) {
      for (; round_ < most_ && (round_ == 0 || group_ > 0 || in_time()); ++round_, group_ = 0) {
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
    return taken.count() < enough_seconds_ * double(type_ + 1) / double(groups_.size());
  }

  const std::vector<std::vector<Group>>& groups_;
  double enough_seconds_;
  std::size_t most_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::size_t type_ = 0, round_ = 0, group_ = 0;
};

/// At most `most` configs of each family and signature beside its ladder: at least one, and as many more as the time
/// is enough for.
inline void verify_sample(const runtime::Context& context, std::size_t most, double enough_seconds,
    const Signatures& signatures = plain_signatures()) {
  const std::vector<std::vector<Group>> groups = make_groups(signatures, context.info().limits, most);
  std::map<std::string, int> right;  // every group is in it from the start: one that is passed by is a failure
  for (const auto& of_type : groups) {
    CHECK_FALSE(of_type.empty());
    for (const Group& group : of_type) {
      REQUIRE_FALSE(group.empty());
      right.emplace(name_of(group.front()), 0);
    }
  }
  REQUIRE(right.size() >= signatures.size());

  JobsInTime jobs(groups, enough_seconds);
  std::size_t all = 0, verified = 0;
  for (const auto& of_type : groups) {
    for (const Group& group : of_type) all += group.size();
  }
  const std::atomic<bool> stop{false};
  tuner::verify_all(
      context, [&] { return jobs.next(); }, 0,
      [&](const tuner::CompileJob& job, const db::Outcome& outcome) {
        INFO(name_of(job) << " " << job.config.text() << ": " << outcome.message);
        ++verified;
        if (outcome.status == db::Status::spilled) return;  // no kernel that anyone would run
        CHECK(db::name(outcome.status) == db::name(db::Status::ok));
        if (outcome.status == db::Status::ok) ++right[name_of(job)];
      },
      stop);
  if (verified < all) WARN(verified << " of " << all << " configs were verified in the time that was given");
  for (const auto& [group, count] : right) {
    INFO(group);
    CHECK(count > 0);
  }
}

}  // namespace tilesmith::test
