// How child processes of this same executable are started, so that none outlives its parent, and how they ended, in
// words.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

namespace tilesmith::tuner {

struct Spawn {
  std::string executable;  ///< empty: this very program, /proc/self/exe
  std::vector<std::string> arguments;
  int descriptor_3 = -1;       ///< what the child finds there
  int output = -1;             ///< its standard output and error; -1: this process's standard error
  int death_signal = SIGKILL;  ///< sent to it when the thread that started it ends
  enum class Signals {
    ignored,   ///< SIGINT, SIGTERM and SIGHUP: to end it is its parent's decision
    own_group  ///< a process group of its own, which the terminal's signals do not reach; SIGPIPE is ignored
  };
  Signals signals = Signals::ignored;
};

/// Standard input is empty; no other descriptor of this process lives on in the child. Throws std::system_error if the
/// program cannot be started.
pid_t spawn(const Spawn& what);

/// "killed by signal 11 (Segmentation fault)", "exit status 3": of a status that waitpid() gave.
std::string ending_in_words(int wait_status);
/// Of such words. No worker sends itself SIGKILL or SIGTERM: as a rule the system was out of memory.
bool is_killed_from_outside(const std::string& ending);

}  // namespace tilesmith::tuner
