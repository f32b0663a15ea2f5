#include "tuner/schedule/time_slices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace tilesmith::tuner {

using State = SliceBoard::State;

constexpr double kGrowth = 1.0 / 3;  // of a task's evaluations, by a further slice of which something is expected

TimeSlices::TimeSlices(const Workload& workload, const db::Store& store, const db::DeviceIdentity& device,
    SliceBoard& board, int tuner, GpuQueue* gpu, std::vector<char> tried, std::vector<double> shares)
    : workload_(workload),
      locks_(store),
      device_(device),
      board_(board),
      tuner_(tuner),
      gpu_(gpu),
      tried_(std::move(tried)),
      shares_(std::move(shares)),
      set_aside_(workload.tasks.size(), 0),
      elsewhere_(workload.tasks.size(), 0) {
  tried_.resize(workload.tasks.size(), 0);
}

TimeSlices::~TimeSlices() { board_.release(tuner_); }

std::optional<TimeSlices::Slice> TimeSlices::take(
    double now, double ends, double least_seconds, double beyond_seconds) {
  std::optional<db::TaskLock> gpu;
  if (gpu_ != nullptr && !(gpu = gpu_->take())) {
    waiting_for_ = "the GPU, which another tuner times a task on";
    return std::nullopt;
  }
  std::size_t others = 0;
  for (const std::size_t i : in_order()) {
    std::optional<db::TaskLock> lock = locks_.take(device_, workload_.tasks[i].task);
    elsewhere_[i] = !lock;
    if (!lock) {
      ++others;
      continue;
    }
    const SliceBoard::Note note = board_.note(i);
    if (note.state == State::done) continue;  // its slice ended before it could be locked
    if (note.slices > 0 && ends - now < least_seconds) continue;
    const double share = share_of(i, now, ends, least_seconds, beyond_seconds);
    board_.release(tuner_);  // what was announced and is not taken
    board_.begin(i, tuner_, std::isinf(ends) ? ends : now + (ends - now) * share);
    const bool others_left = !std::isinf(ends) && left() > 1;
    Slice slice{i, note.slices + 1, share, others_left, nullptr, nullptr, std::move(*lock), std::move(gpu)};
    announce_after(slice);
    return slice;
  }
  waiting_for_ = fmt::format("{} {} that other tuners have locked", others, others == 1 ? "task" : "tasks");
  return std::nullopt;
}

void TimeSlices::finished(const Slice& slice) { board_.finish(slice.task, tuner_); }
void TimeSlices::rested(const Slice& slice, const SliceBoard::Rest& rest) { board_.rest(slice.task, rest); }

void TimeSlices::set_aside(const Slice& slice) {
  set_aside_[slice.task] = 1;
  board_.release(slice.task, tuner_);
}

/// For this tuner.
bool TimeSlices::is_over(std::size_t task) const { return set_aside_[task] || board_.note(task).state == State::done; }

std::size_t TimeSlices::left() const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < board_.size(); ++i) found += is_over(i) ? 0 : 1;
  return found;
}

bool TimeSlices::all_had_slices() const {
  for (std::size_t i = 0; i < board_.size(); ++i) {
    if (!set_aside_[i] && board_.note(i).slices == 0) return false;
  }
  return true;
}

/// What is left to do: first slices, the likeliest to be free first, of tasks not yet tried before others; then
/// further ones, where most is expected first.
std::vector<std::size_t> TimeSlices::in_order() const {
  const auto rank = [&](const SliceBoard::Note& note) {
    const bool mine = note.tuner == tuner_;
    switch (note.state) {
      case State::open: return 1;
      case State::announced: return note.slices > 0 ? 1 : mine ? 0 : 2;
      case State::begun: return 3;  // free if its tuner died
      case State::done: break;
    }
    return 4;
  };
  std::vector<std::tuple<bool, int, double, double, std::size_t>> ranked;
  for (std::size_t i = 0; i < board_.size(); ++i) {
    const SliceBoard::Note note = board_.note(i);
    const int at = rank(note);
    if (at == 4 || set_aside_[i]) continue;
    if (note.slices == 0) {
      ranked.emplace_back(false, at, tried_[i], shares_.empty() ? 0 : -shares_[i], i);
    } else {
      const SliceBoard::Rest rest = board_.rest_of(i);
      const double had = rest.trend.evaluations * rest.seconds_per_evaluation / share_weight(i);
      ranked.emplace_back(true, at, -promise(i), had, i);
    }
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::size_t> order;
  for (const auto& one : ranked) order.push_back(std::get<std::size_t>(one));
  return order;
}

/// Of a task that had a slice: weight × µs that a second of a further one is expected to save. Infinite where too
/// few evaluations were made to say.
double TimeSlices::promise(std::size_t task) const {
  const SliceBoard::Rest rest = board_.rest_of(task);
  if (rest.trend.too_few()) return std::numeric_limits<double>::infinity();
  const double more = kGrowth * rest.trend.evaluations;
  const double saved_us = expected_us(rest.trend, 0) - expected_us(rest.trend, more);
  return saved_us > 0 ? workload_.tasks[task].weight * saved_us / (more * rest.seconds_per_evaluation) : 0;
}

/// All tuners' time, less what is promised to tasks in their slice, is shared out by weight: what settled tasks
/// gave up among those that rest too, the remainder among those still to have their first slice. What this tuner set
/// aside is among them while others may take it.
double TimeSlices::share_of(
    std::size_t task, double now, double ends, double least_seconds, double beyond_seconds) const {
  if (std::isinf(ends)) return 1;
  const double left = ends - now;
  double promised = 0, first_weight = 0, any_weight = 0, spare = 0, beyond = 0;
  for (std::size_t i = 0; i < board_.size(); ++i) {
    const SliceBoard::Note note = board_.note(i);
    if (note.state == State::done || (set_aside_[i] && board_.tuners() == 1)) continue;
    if (note.slices == 0) beyond += beyond_seconds;
    if (note.state == State::begun && note.tuner != tuner_ && i != task) {
      promised += std::clamp(board_.deadline(i) - now, 0.0, left);
      continue;
    }
    const double weight = share_weight(i);
    any_weight += weight;
    if (note.slices == 0) first_weight += weight;
    spare += note.slices == 0 ? 0 : board_.rest_of(i).spare_seconds;
  }
  // This one's own time is promised to nobody. Set aside is no more than half: of the first slices not much is known.
  const double unpromised = std::max(left, board_.tuners() * left - promised);
  const double free = unpromised - std::min(beyond, unpromised / 2);
  const double weight = share_weight(task);
  const double fair = free * weight / any_weight;
  double seconds = fair;
  if (board_.note(task).slices == 0) {
    seconds = std::max(fair, (free - spare) * weight / first_weight);
  } else {
    const SliceBoard::Rest rest = board_.rest_of(task);
    if (!rest.trend.too_few() && promise(task) > 0)
      seconds = kGrowth * rest.trend.evaluations * rest.seconds_per_evaluation;
    seconds = std::max(seconds, least_seconds);
  }
  return std::min(1.0, seconds / left);
}

/// A task that rests is prepared for if it will be next, going by what is known before this one's slice.
void TimeSlices::announce_after(Slice& slice) {
  for (const std::size_t i : in_order()) {
    const SliceBoard::Note note = board_.note(i);
    if (i == slice.task || elsewhere_[i] || note.state != State::open) continue;
    const bool less = note.slices > 0 && promise(i) <= 0;
    if (less && board_.note(slice.task).slices > 0 && promise(slice.task) > 0) break;
    if (slice.next != nullptr) {
      slice.after_next = &workload_.tasks[i].task;
      break;
    }
    board_.announce(i, tuner_);
    slice.next = &workload_.tasks[i].task;
  }
}

}  // namespace tilesmith::tuner
