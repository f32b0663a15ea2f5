// What the tuners of one run tell each other of its tasks, in memory that they share: which had their slice, which
// have it now and until when, how those that rest may go on, and which a tuner prepares for. It is made by one process
// and inherited by others.
//
// Only `done` binds. The rest is advice, for choosing what to try next and for sharing out the time; who may tune a
// task is decided by its lock (db/store/task_locks.hpp), which dies with its process where a note here does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "tuner/schedule/expected_gain.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {

class SliceBoard {
 public:
  /// A task that rests, as it had slices and may have others, is open.
  enum class State : std::uint16_t { open, announced, begun, done };
  struct Note {
    State state = State::open;
    std::uint16_t tuner = 0;   ///< whose it is, unless it is open
    std::uint32_t slices = 0;  ///< that it had
  };
  /// How a task's last slice left it.
  struct Rest {
    Trend trend;
    double seconds_per_evaluation = 0;
    double spare_seconds = 0;  ///< of its share, which it gave up as settled
  };

  /// A fresh board for a workload, in memory of its own. `ends`: when the budget is used up, on the run's clock.
  explicit SliceBoard(const Workload& workload, double ends = std::numeric_limits<double>::infinity());
  /// The same board as another process has, by the descriptor that this one inherited, which it takes over. Throws
  /// std::runtime_error if it is none, or the board of another workload.
  static SliceBoard inherited(int fd, const Workload& workload);
  ~SliceBoard();
  SliceBoard(SliceBoard&& other) noexcept;
  SliceBoard& operator=(SliceBoard&&) = delete;

  int fd() const { return fd_; }  ///< closed on exec unless copied
  std::size_t size() const;
  double ends() const;

  /// How many tuners work on it. At least 1 is assumed.
  int tuners() const;
  void set_tuners(int count);

  Note note(std::size_t task) const;
  /// On the run's clock: when the slice that is begun will be over.
  double deadline(std::size_t task) const;
  void announce(std::size_t task, int tuner);
  void begin(std::size_t task, int tuner, double deadline);
  /// Its slice is over, and it has nothing left to try.
  void finish(std::size_t task, int tuner);
  /// Its slice is over, and it may have others.
  void rest(std::size_t task, const Rest& rest);
  /// Of a task that had a slice.
  Rest rest_of(std::size_t task) const;
  /// What this tuner had begun or announced is open again.
  void release(int tuner);
  void release(std::size_t task, int tuner);
  std::size_t count(State state) const;
  /// How many tasks had a slice.
  std::size_t had_slices() const;

 private:
  struct Header;
  struct Slot;
  SliceBoard(int fd, std::size_t tasks);
  Slot& slot(std::size_t task) const;

  int fd_ = -1;
  std::size_t bytes_ = 0;
  void* memory_ = nullptr;
};

}  // namespace tilesmith::tuner
