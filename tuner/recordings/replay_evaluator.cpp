#include "tuner/recordings/replay_evaluator.hpp"

#include <fmt/format.h>

#include <deque>
#include <stdexcept>

namespace tilesmith::tuner {
namespace {

class ReplayEvaluator final : public Evaluator {
 public:
  ReplayEvaluator(db::Recording recording, DeviceLimits limits)
      : recording_(std::move(recording)), limits_(std::move(limits)) {}

  const db::DeviceIdentity& device() const override { return recording_.device; }
  db::Environment environment(const std::string& family) const override {
    const auto known = recording_.environments.find(family);
    return known == recording_.environments.end() ? db::Environment{} : known->second;
  }
  const DeviceLimits& limits() const override { return limits_; }
  bool is_replay() const override { return true; }
  std::optional<db::Record> entry(const Task& task, const Config& config) const override {
    const db::Record* found = recording_.find(task, config);
    if (found == nullptr) return std::nullopt;
    db::Record entry = *found;
    if (entry.origin.empty()) entry.origin = "replay";
    return entry;
  }

  void submit(const Candidate& candidate, const std::optional<Incumbent>&) override { queue_.push_back(candidate); }
  std::size_t in_flight() const override { return queue_.size(); }
  std::size_t width() const override { return kWidth; }
  Evaluated next() override {
    if (queue_.empty()) throw std::logic_error("next() without a candidate in flight");
    Candidate candidate = std::move(queue_.front());
    queue_.pop_front();
    db::Outcome outcome = recorded(candidate.task, candidate.config);
    return {std::move(candidate), std::move(outcome)};
  }
  std::vector<Evaluated> drop_in_flight() override {
    queue_.clear();
    return {};
  }

  std::vector<db::Outcome> final_benchmark(const Task& task, std::span<const Config> finalists) override {
    std::vector<db::Outcome> outcomes;
    for (const Config& config : finalists) outcomes.push_back(recorded(task, config));
    return outcomes;
  }
  bool knows(const Task& task, const Config& config) const override { return recording_.find(task, config) != nullptr; }

 private:
  // As a device with a few compile workers has it, so that a replay exercises strategies as a run does.
  static constexpr std::size_t kWidth = 4;

  db::Outcome recorded(const Task& task, const Config& config) const {
    if (const db::Record* entry = recording_.find(task, config)) return entry->outcome;
    return {db::Status::illegal, "not in the recording", std::nullopt};
  }

  db::Recording recording_;
  DeviceLimits limits_;
  std::deque<Candidate> queue_;
};

}  // namespace

std::unique_ptr<Evaluator> make_replay_evaluator(db::Recording recording) {
  const auto limits = limits_for_arch(recording.arch);
  if (!limits) {
    throw std::runtime_error(
        fmt::format("recording made for '{}': expected one of {}", recording.arch, supported_archs()));
  }
  return std::make_unique<ReplayEvaluator>(std::move(recording), *limits);
}

}  // namespace tilesmith::tuner
