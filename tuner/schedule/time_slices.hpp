// Which task a tuner takes next, and which part of the time is its share, where several tuners may work on one
// workload and one database. What earlier runs did not get to comes first, in the workload's order or that of the
// largest shares.
//
// A task has its slice with the tuner that holds its lock. What another process has locked is passed over, and
// come back for. Tuners of one run share a board of slices. Without an end a task has one slice there, in which it
// is searched until nothing is left to try. With one every task has a first slice, of a length by its weight beside
// what slices take beyond their share, which is set aside for all that are to come; what time then is left, as settled
// tasks gave up theirs, is dealt out in further slices: to the task that is expected to save the most in a
// second, weight × µs (expected_gain.hpp), a third as many evaluations as it had; where nothing is expected of any, by
// weight, to those that had the least of theirs. Tuners that were started apart have boards of their own: each gives
// every task a slice, and the later one finds the records of the earlier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store/task_locks.hpp"
#include "tuner/schedule/gpu_queue.hpp"
#include "tuner/schedule/slice_board.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {

class TimeSlices {
 public:
  /// `tuner` is this one's number on the board. `gpu`: of the GPU that the tasks are timed on; null: it is not
  /// shared. `tried`: by task, whether it has records of today's; those have their first slice after the others.
  /// Empty: none has. `shares`: by task, what its share of the time goes by; those of the largest have their first
  /// slice before others. Empty: weights, in the workload's order.
  TimeSlices(const Workload& workload, const db::Store& store, const db::DeviceIdentity& device, SliceBoard& board,
      int tuner, GpuQueue* gpu = nullptr, std::vector<char> tried = {}, std::vector<double> shares = {});
  ~TimeSlices();
  TimeSlices(const TimeSlices&) = delete;
  TimeSlices& operator=(const TimeSlices&) = delete;

  /// Held while the task is tuned.
  struct Slice {
    std::size_t task = 0;
    std::uint32_t number = 1;  ///< of the task's slices
    double share = 1;          ///< of the time that is left
    bool others_left = false;  ///< time that it gives up is of use to another task
    /// What this tuner will probably take after it, and after that.
    const Task* next = nullptr;
    const Task* after_next = nullptr;
    db::TaskLock lock;
    std::optional<db::TaskLock> gpu;
  };
  /// The task that this tuner has prepared for, else the first one that nobody works on. nullopt: nothing can be
  /// taken now. `ends`: when the budget is used up, infinity if there is none. `least_seconds`: what a further slice
  /// takes at least; `beyond_seconds`: what a first one takes beyond its share.
  std::optional<Slice> take(double now, double ends, double least_seconds = 0, double beyond_seconds = 0);
  /// Nothing is left to try.
  void finished(const Slice& slice);
  /// Its time is over.
  void rested(const Slice& slice, const SliceBoard::Rest& rest);

  /// This tuner takes it up no more; others may.
  void set_aside(const Slice& slice);

  bool all_done() const { return left() == 0; }
  /// Every task had its first slice.
  bool all_had_slices() const;
  /// What the last take() found to be others', in words.
  const std::string& waiting_for() const { return waiting_for_; }

 private:
  bool is_over(std::size_t task) const;
  std::size_t left() const;
  std::vector<std::size_t> in_order() const;
  double promise(std::size_t task) const;
  double share_of(std::size_t task, double now, double ends, double least_seconds, double beyond_seconds) const;
  void announce_after(Slice& slice);
  double share_weight(std::size_t task) const { return shares_.empty() ? workload_.tasks[task].weight : shares_[task]; }

  const Workload& workload_;
  const db::TaskLocks locks_;
  const db::DeviceIdentity device_;
  SliceBoard& board_;
  const int tuner_;
  GpuQueue* const gpu_;
  std::vector<char> tried_;  // by task: an earlier run got to it
  const std::vector<double> shares_;
  std::vector<char> set_aside_;  // by task
  std::vector<char> elsewhere_;  // by task: another process had it locked when it was last looked at
  std::string waiting_for_;
};

}  // namespace tilesmith::tuner
