// Ctrl-C and its kin: the first asks for a clean end, another one a second later or more ends at once.
#pragma once

#include <atomic>

namespace tilesmith::tuner {

/// From its construction to its end, SIGINT, SIGTERM and SIGHUP set stop(). What comes within a second of the first is
/// the same wish: programs such as `timeout` signal a process and then its group. A later signal ends the process at
/// once with status 128 + signal. A signal that was ignored before (nohup) stays ignored. One at a time.
class [[nodiscard]] StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  const std::atomic<bool>& stop() const;
  /// 128 + the signal that came, or 0.
  int exit_status() const;
};

}  // namespace tilesmith::tuner
