#include "tuner/cli/child_program.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "tuner/cli/command.hpp"

namespace tilesmith::tuner {
namespace {

std::vector<char*> arguments_of(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& one : command) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

[[noreturn]] void fail_to_start(const std::vector<std::string>& command, int error) {
  throw UsageError(fmt::format("{}: could not be started: {}", command.front(), std::generic_category().message(error)));
}

}  // namespace

void become(const std::vector<std::string>& command) {
  const std::vector<char*> arguments = arguments_of(command);
  ::execvp(arguments.front(), arguments.data());
  fail_to_start(command, errno);
}

int run_child(const std::vector<std::string>& command) {
  const std::vector<char*> arguments = arguments_of(command);
  sigset_t taken, before;
  sigfillset(&taken);
  for (const int of_job_control : {SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT}) sigdelset(&taken, of_job_control);
  ::signal(SIGCHLD, SIG_DFL);
  ::sigprocmask(SIG_BLOCK, &taken, &before);
  volatile int error = 0;
  const pid_t child = ::vfork();  // the child's `error` is this one
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::execvp(arguments.front(), arguments.data());
    error = errno;
    ::_exit(127);
  }
  if (child < 0) error = errno;
  int status = 0;
  siginfo_t info{};
  while (child > 0 && ::waitpid(child, &status, WNOHANG) == 0) {
    // What the terminal sends, the child gets, too.
    if (::sigwaitinfo(&taken, &info) > 0 && info.si_signo != SIGCHLD && info.si_code <= 0) ::kill(child, info.si_signo);
  }
  if (error != 0) fail_to_start(command, error);
  return status;
}

int end_as(int wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  const int number = WTERMSIG(wait_status);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  ::prctl(PR_SET_DUMPABLE, 0);  // the child has left its core
  ::signal(number, SIG_DFL);
  ::raise(number);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  return 128 + number;
}

}  // namespace tilesmith::tuner
