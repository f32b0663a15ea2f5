#include "tuner/turns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tilesmith::tuner {

using State = TurnBoard::State;

std::optional<db::Claim> GpuQueue::take() {
  if (held_) return std::exchange(held_, std::nullopt);
  if (!place_) place_ = claims_.take("next on " + gpu_);
  if (!place_) return std::nullopt;
  std::optional<db::Claim> gpu = claims_.take(gpu_);
  if (gpu) place_.reset();
  return gpu;
}

Turns::Turns(const Workload& workload, const db::Store& store, const db::DeviceIdentity& device, TurnBoard& board,
             int tuner, GpuQueue* gpu)
    : workload_(workload),
      claims_(store),
      device_(device),
      board_(board),
      tuner_(tuner),
      gpu_(gpu),
      elsewhere_(workload.problems.size(), 0) {}

Turns::~Turns() { board_.release(tuner_); }

std::optional<Turns::Turn> Turns::take(double now, double ends) {
  std::optional<db::Claim> gpu;
  if (gpu_ != nullptr && !(gpu = gpu_->take())) {
    waiting_for_ = "the GPU, which another tuner times a problem on";
    return std::nullopt;
  }
  std::size_t others = 0;
  for (const std::size_t i : in_order()) {
    std::optional<db::Claim> claim = claims_.take(device_, workload_.problems[i].problem);
    elsewhere_[i] = !claim;
    if (!claim) {
      ++others;
      continue;
    }
    if (board_.note(i).state == State::done) continue;  // its turn ended before it could be claimed
    const double share = share_of(i, now, ends);
    board_.release(tuner_);  // what was foreseen and is not taken
    board_.begin(i, tuner_, std::isinf(ends) ? ends : now + (ends - now) * share);
    return Turn{i, share, foresee_after(i), std::move(*claim), std::move(gpu)};
  }
  waiting_for_ = fmt::format("{} {} that other tuners have claimed", others, others == 1 ? "problem" : "problems");
  return std::nullopt;
}

void Turns::finished(const Turn& turn) { board_.finish(turn.problem, tuner_); }

bool Turns::all_done() const { return board_.count(State::done) == board_.size(); }

/// What is left to do, the likeliest first.
std::vector<std::size_t> Turns::in_order() const {
  const auto rank = [&](std::size_t problem) {
    const TurnBoard::Note note = board_.note(problem);
    const bool mine = note.tuner == tuner_;
    switch (note.state) {
      case State::open:
        return 1;
      case State::foreseen:
        return mine ? 0 : 2;
      case State::begun:
        return 3;  // free if its tuner died
      case State::done:
        break;
    }
    return 4;
  };
  std::vector<std::pair<int, std::size_t>> ranked;
  for (std::size_t i = 0; i < board_.size(); ++i) {
    if (const int at = rank(i); at < 4) ranked.emplace_back(at, i);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::size_t> order;
  for (const auto& [at, problem] : ranked) order.push_back(problem);
  return order;
}

/// All tuners' time, less what is promised to problems in their turn, is shared out by weight among those without one.
double Turns::share_of(std::size_t problem, double now, double ends) const {
  if (std::isinf(ends)) return 1;
  const double left = ends - now;
  double promised = 0, weight_left = 0;
  for (std::size_t i = 0; i < board_.size(); ++i) {
    const TurnBoard::Note note = board_.note(i);
    if (note.state == State::done) continue;
    if (note.state == State::begun && note.tuner != tuner_ && i != problem)
      promised += std::clamp(board_.deadline(i) - now, 0.0, left);
    else
      weight_left += workload_.problems[i].weight;
  }
  const double tuners = std::max(1.0, board_.tuners() - promised / left);  // this one's own time is promised to nobody
  return std::min(1.0, tuners * workload_.problems[problem].weight / weight_left);
}

const Problem* Turns::foresee_after(std::size_t problem) {
  for (std::size_t i = 0; i < board_.size(); ++i) {
    if (i == problem || elsewhere_[i] || board_.note(i).state != State::open) continue;
    board_.foresee(i, tuner_);
    return &workload_.problems[i].problem;
  }
  return nullptr;
}

}  // namespace tilesmith::tuner
