// A child `tilesmith tune` that works on one device for a supervising one: its lines, and its end. Like a tuner that
// was started by hand, it ends in order when it is sent SIGTERM, which it also is when its supervisor dies.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tilesmith::tuner {

/// Where such a child finds the board of slices.
inline constexpr int kBoardDescriptor = 3;

class TunerProcess {
 public:
  /// Throws std::system_error if it cannot be started. `arguments`: what follows the program's name.
  TunerProcess(std::vector<std::string> arguments, int board_descriptor);
  ~TunerProcess();  ///< kills it if it still runs
  TunerProcess(const TunerProcess&) = delete;
  TunerProcess& operator=(const TunerProcess&) = delete;

  pid_t pid() const { return pid_; }
  int fd() const { return output_; }  ///< for poll()
  /// The whole lines that it has written since the last call, without waiting. After its end also the last, cut short
  /// one.
  std::vector<std::string> read_lines();
  bool ended();
  /// Of waitpid(), once it has ended.
  int wait_status() const { return wait_status_; }
  void ask_to_end() noexcept;

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string pending_;
  bool reaped_ = false;
  int wait_status_ = 0;
};

}  // namespace tilesmith::tuner
