// How child processes of this same executable are started, so that none outlives its parent, and how they ended, in
// words.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

namespace tilesmith::tuner {

/// What TILESMITH_WORKER_PROGRAM says is no program.
struct OwnProgramError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What to start for a child of this same program: the file that TILESMITH_WORKER_PROGRAM names, else /proc/self/exe.
/// The system cannot start the latter where this program runs under an emulator. Throws OwnProgramError.
std::string own_program();

struct Spawn {
  std::string executable;  ///< empty: own_program()
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
/// program cannot be started; OwnProgramError.
pid_t spawn(const Spawn& what);

/// "killed by signal 11 (Segmentation fault)", "exit status 3": of a status that waitpid() gave.
std::string ending_in_words(int wait_status);
/// Of such words. No worker sends itself SIGKILL or SIGTERM: as a rule the system was out of memory.
bool is_killed_from_outside(const std::string& ending);

}  // namespace tilesmith::tuner
