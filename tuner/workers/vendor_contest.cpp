#include "tuner/workers/vendor_contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kVendorPlayers = 3;  // its first choice, and so many less one of its fastest others
constexpr std::size_t kAlwaysTimed = 4;    // of its algorithms, the most promising by its own word first

bool is_lost(const std::exception& error) {
  const auto* device = dynamic_cast<const runtime::DeviceError*>(&error);
  return device != nullptr && device->context_lost();
}

void note(const std::exception& error, VendorAnswer& answer) {
  const auto* device = dynamic_cast<const runtime::DeviceError*>(&error);
  answer.times.message = error.what();
  answer.by_machine = device != nullptr && device->out_of_memory();
}

}  // namespace

std::vector<Competitor> VendorContest::offered(const OperandSets& operands, VendorAnswer& answer) {
  if (!peer_ && unavailable_.empty()) {
    try {
      peer_ = std::make_unique<CublasLtPeer>(context_);
    } catch (const runtime::DeviceError& error) {  // no memory, as a rule: it may have some later
      if (error.context_lost()) throw;
      note(error, answer);
      return {};
    } catch (const std::exception& error) {
      unavailable_ = error.what();
    }
  }
  answer.unavailable = unavailable_;
  if (!peer_) return {};
  answer.times.vendor_version = peer_->version();
  std::vector<Competitor> all;
  try {
    all = peer_->competitors(operands);
    if (all.empty()) answer.times.message = CublasLtPeer::not_timed_because(operands.problem());
  } catch (const std::exception& error) {
    if (is_lost(error)) throw;
    note(error, answer);
  }
  return all;
}

void VendorContest::choose(const VendorAsk& ask, const std::vector<Competitor>& all, const OperandSets& operands,
    Stopwatch& stopwatch, const std::optional<Control>& control) {
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::pair<double, std::size_t>> order;
  double fastest_us = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began;
    if (i >= kAlwaysTimed && spent.count() >= ask.seconds) break;
    try {
      stopwatch.try_out(all[i]);
      const db::Outcome timed = stopwatch.time(all[i], operands.rotation(), fastest_us, control);
      if (!timed.timing) continue;
      const double us = timed.timing->median_us;
      fastest_us = fastest_us == 0 ? us : std::min(fastest_us, us);
      order.emplace_back(us, i);
    } catch (const std::exception& error) {
      if (is_lost(error)) throw;
      if (failure_.empty()) failure_ = fmt::format("{}: {}", all[i].name, error.what());
    }
  }
  timed_ = int(order.size());
  std::sort(order.begin(), order.end());
  const bool has_first = std::ranges::any_of(order, [](const auto& one) { return one.second == 0; });
  if (has_first) chosen_.push_back(0);
  for (const auto& [us, i] : order) {
    if (i != 0 && chosen_.size() < kVendorPlayers) chosen_.push_back(i);
  }
  for (const std::size_t i : chosen_) players_.push_back(all[i]);
}

void VendorContest::forget() {
  problem_.reset();
  operands_ = nullptr;
  players_.clear();
  chosen_.clear();
  offered_ = timed_ = 0;
  failure_.clear();
}

std::vector<Competitor> VendorContest::players(const VendorAsk& ask, const OperandSets& operands, Stopwatch& stopwatch,
    const std::optional<Control>& control, VendorAnswer& answer) {
  answer = {};
  answer.times.problem = operands.problem();
  answer.times.device = context_.info().identity;
  if (!problem_ || !(*problem_ == operands.problem()) || operands_ != &operands) {
    forget();
    const std::vector<Competitor> all = offered(operands, answer);
    if (all.empty()) return {};
    offered_ = int(all.size());
    choose(ask, all, operands, stopwatch, control);
    problem_ = operands.problem();
    operands_ = &operands;
  }
  answer.times.vendor_version = peer_->version();
  answer.times.offered = offered_;
  answer.times.timed = timed_;
  if (players_.empty()) answer.times.message = failure_.empty() ? "none of cuBLASLt's algorithms had a time" : failure_;
  return players_;
}

void VendorContest::conclude(const std::vector<db::Outcome>& outcomes, VendorAnswer& answer) const {
  db::VendorTimes& times = answer.times;
  const db::Timing* best = nullptr;
  for (std::size_t i = 0; i < outcomes.size() && i < chosen_.size(); ++i) {
    const db::Outcome& outcome = outcomes[i];
    if (!outcome.message.empty() && times.message.empty()) times.message = outcome.message;
    if (!outcome.timing) continue;
    const db::VendorTime time{outcome.timing->median_us, outcome.timing->spread, peer_->description(chosen_[i])};
    if (chosen_[i] == 0) times.first = time;
    if (best != nullptr && best->median_us <= time.us) continue;
    best = &*outcome.timing;
    times.best = time;
  }
  if (best == nullptr) {
    if (times.message.empty()) times.message = "none of cuBLASLt's algorithms had a time";
    answer.by_machine = std::ranges::all_of(outcomes, &db::Outcome::by_machine);
    return;
  }
  times.samples = best->samples;
  times.clock_mhz = best->clock_mhz;
  times.temperature_c = best->temperature_c;
  times.power_w = best->power_w;
  times.drift = best->drift;
}

void VendorContest::release() {
  forget();  // its competitors before the library
  peer_.reset();
}

}  // namespace tilesmith::tuner
