#include "tuner/workers/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace tilesmith::tuner {
namespace {

constexpr int kFirstDescriptor = 3;

// What the child does between fork and exec. Only async-signal-safe calls: another thread of the parent may have held
// any lock when it forked.
[[noreturn]] void become(const char* executable, char* const* arguments, const Spawn& what, int report, pid_t parent) {
  const auto fail = [&] {
    const int error = errno;
    [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof(error));
    ::_exit(127);
  };
  if (::prctl(PR_SET_PDEATHSIG, what.death_signal) != 0) fail();
  if (::getppid() != parent) ::_exit(127);  // it ended before the line above took effect
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Ignored signals stay ignored across exec.
  if (what.signals == Spawn::Signals::ignored) {
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  } else {
    if (::setpgid(0, 0) != 0) fail();
    ::signal(SIGPIPE, SIG_IGN);
  }

  const int null = ::open("/dev/null", O_RDONLY);
  if (null >= 0) ::dup2(null, STDIN_FILENO);
  if (what.output >= 0) ::dup2(what.output, STDERR_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);  // the parent's standard output carries results only
  // The child's descriptor moves to 3; the report pipe to 4, to be closed by exec when that succeeds.
  const int descriptor_copy = ::fcntl(what.descriptor_3, F_DUPFD, 16);
  const int report_copy = ::fcntl(report, F_DUPFD, 16);
  if (descriptor_copy < 0 || report_copy < 0) fail();
  if (::dup2(descriptor_copy, kFirstDescriptor) < 0 || ::dup2(report_copy, kFirstDescriptor + 1) < 0) fail();
  report = kFirstDescriptor + 1;
  ::fcntl(report, F_SETFD, FD_CLOEXEC);
  // Descriptors of the parent (database, driver, other children's sockets) must not live on in the child.
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, unsigned(kFirstDescriptor + 2), ~0u, 0u) != 0)
#endif
  {
    for (int fd = kFirstDescriptor + 2; fd < 1024; ++fd) ::close(fd);
  }
  ::execv(executable, arguments);
  fail();
  ::_exit(127);
}

}  // namespace

std::string own_program() {
  const char* told = std::getenv("TILESMITH_WORKER_PROGRAM");
  if (told == nullptr || *told == '\0') return "/proc/self/exe";
  std::error_code error;
  const bool startable = *told == '/' && std::filesystem::is_regular_file(told, error) && ::access(told, X_OK) == 0;
  if (!startable)
    throw OwnProgramError(
        fmt::format("TILESMITH_WORKER_PROGRAM={}: expected the absolute path of a file that can be started", told));
  return told;
}

pid_t spawn(const Spawn& what) {
  const std::string program = what.executable.empty() ? own_program() : what.executable;
  std::vector<std::string> owned{what.executable.empty() ? "tilesmith" : what.executable};
  owned.insert(owned.end(), what.arguments.begin(), what.arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : owned) argv.push_back(argument.data());
  argv.push_back(nullptr);

  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe for a child process");
  }
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(program.c_str(), argv.data(), what, report[1], parent);
  int error = pid < 0 ? errno : 0;
  ::close(report[1]);
  // Empty when exec succeeded: its end was closed by it.
  while (pid > 0 && ::read(report[0], &error, sizeof(error)) < 0 && errno == EINTR) {
  }
  ::close(report[0]);
  if (error != 0) {
    if (pid > 0) ::waitpid(pid, nullptr, 0);
    throw std::system_error(error, std::generic_category(), "starting child process " + program);
  }
  return pid;
}

std::string ending_in_words(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return fmt::format("exit status {}", WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  const char* text = ::strsignal(signal);
  return fmt::format("killed by signal {} ({})", signal, text ? text : "unknown");
}

bool is_killed_from_outside(const std::string& ending) {
  for (const int signal : {SIGKILL, SIGTERM}) {
    if (ending.find(fmt::format("killed by signal {} ", signal)) != std::string::npos) return true;
  }
  return false;
}

}  // namespace tilesmith::tuner
