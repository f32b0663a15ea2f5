// The play-off of an evaluator on a device: the finalists in one process, interleaved; if that does not survive, each by
// itself, so that only the one at fault has a failure as its outcome.
#include <spdlog/spdlog.h>

#include <utility>

#include "runtime/compiler.hpp"
#include "tuner/device_evaluator_class.hpp"
#include "tuner/protocol.hpp"

namespace tilesmith::tuner {
namespace {

/// While it lives, no candidate in flight is given to the device.
class [[nodiscard]] Hold {
 public:
  explicit Hold(bool& held) : held_(held) { held_ = true; }
  ~Hold() { held_ = false; }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  bool& held_;
};

}  // namespace

struct DeviceEvaluator::Finalist {
  std::size_t index = 0;  // among those asked for
  Item item;
};

/// The kernel from the store, or compiled now.
std::optional<db::KernelBuild> DeviceEvaluator::build_now(const db::KernelKey& key) {
  if (auto build = store_.find_build(key)) return build;
  const std::size_t ticket = ticket_for(key);
  wanted_.emplace(ticket, std::nullopt);
  while (!wanted_.at(ticket)) step(true);
  return std::move(wanted_.extract(ticket).mapped());
}

/// Those that can play; the outcomes of the others are filled in.
std::vector<DeviceEvaluator::Finalist> DeviceEvaluator::prepare(const Problem& problem, std::span<const Config> configs,
                                                                std::vector<db::Outcome>& outcomes) {
  std::vector<Finalist> finalists;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    Item item{{problem, configs[i]}, {}, {}};
    if (auto outcome = refused(item.candidate, item.key)) {
      outcomes[i] = *outcome;
      continue;
    }
    const auto build = build_now(item.key);
    if (build->status != db::Status::ok) {
      outcomes[i] = {build->status, build->message, std::nullopt};
      continue;
    }
    if (auto outcome = known_proof(item)) {
      outcomes[i] = *outcome;
      continue;
    }
    item.cubin = build->cubin;
    finalists.push_back({i, std::move(item)});
  }
  return finalists;
}

/// Asks the measuring process and waits for its answer; compilation goes on meanwhile.
MeasureProcess::Answer DeviceEvaluator::exchange(const Message& request) {
  while (measuring_ || !measuring_process_.idle() || !measuring_process_.request(request)) step(true);
  for (;;) {
    if (auto answer = measuring_process_.collect()) return *std::move(answer);
    step(true);
  }
}

/// False if the process did not live to the end of it, or any finalist lost the context for all.
bool DeviceEvaluator::play_together(const Problem& problem, const std::vector<Finalist>& finalists,
                                    std::vector<db::Outcome>& outcomes) {
  PlayOffRequest request{problem, {}, anchor_of(problem)};
  for (const Finalist& finalist : finalists) {
    request.finalists.push_back({problem, finalist.item.candidate.config, finalist.item.cubin, true, 0});
  }
  const MeasureProcess::Answer answer = exchange(to_message(request));
  const auto parsed = answer.message ? play_off_answer(*answer.message) : std::nullopt;
  if (!parsed || parsed->context_lost || parsed->outcomes.size() != finalists.size()) {
    spdlog::warn("{}: the play-off ended early ({}); finalists are timed one by one", text(problem),
                 parsed ? "device fault" : answer.message ? "malformed answer" : answer.failure.message);
    return false;
  }
  for (std::size_t i = 0; i < finalists.size(); ++i) outcomes[finalists[i].index] = parsed->outcomes[i];
  return true;
}

std::vector<db::Outcome> DeviceEvaluator::play_off(const Problem& problem, std::span<const Config> configs) {
  const Hold hold(held_);
  std::vector<db::Outcome> outcomes(configs.size());
  const std::vector<Finalist> finalists = prepare(problem, configs, outcomes);
  if (finalists.empty() || play_together(problem, finalists, outcomes)) return outcomes;
  for (const Finalist& finalist : finalists) {
    const Item& item = finalist.item;
    const MeasureSession::Job job{problem, item.candidate.config, item.cubin, item.battery_passed, 0};
    outcomes[finalist.index] = conclude(item, exchange(to_message(job)));
  }
  return outcomes;
}

}  // namespace tilesmith::tuner
