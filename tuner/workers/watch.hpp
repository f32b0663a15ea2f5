// The time for which workers are watched. Where the tuner was away (Ctrl-Z, `docker pause`, a frozen cgroup) they stood
// still as well, and no time of theirs has passed: what it reads here leaves out the gaps between its looks, and its
// deadlines are on that time.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

namespace tilesmith::tuner {

/// What the owner of workers waits for at most before it looks around.
inline constexpr std::chrono::seconds kLongestWait{1};

class Watch {
 public:
  using Clock = std::chrono::steady_clock;

  /// Tests bring their own clock.
  explicit Watch(std::function<Clock::time_point()> clock = Clock::now)
      : clock_(std::move(clock)), last_look_(clock_()) {}

  /// Watched time now. Longer than kLongestWait and kSlack since the look before, and it was away. Longer than
  /// kLongestWait, and it was busy, on a busy host or stopped for a moment: what is beyond counts against nobody
  /// either.
  Clock::time_point look() {
    const Clock::time_point now = clock_();
    const Clock::duration gap = now - last_look_;
    if (gap > kLongestWait) away_ += gap > kLongestWait + kSlack ? gap : gap - kLongestWait;
    last_look_ = now;
    return now - away_;
  }
  /// When the clock will say so, if the tuner is not away until then.
  Clock::time_point on_clock(Clock::time_point watched) const { return watched + away_; }

 private:
  static constexpr std::chrono::seconds kSlack{2};  // a busy host; writing to the database

  std::function<Clock::time_point()> clock_;
  Clock::time_point last_look_;
  Clock::duration away_{};
};

}  // namespace tilesmith::tuner
