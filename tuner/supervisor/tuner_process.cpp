#include "tuner/supervisor/tuner_process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "tuner/workers/spawn.hpp"

namespace tilesmith::tuner {

/// Of a process whose end somebody else was told: it is not known to have been a good one.
constexpr int kExitUnknown = 255;

TunerProcess::TunerProcess(std::vector<std::string> arguments, int board_descriptor) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe for a tuner process");
  output_ = ends[0];
  ::fcntl(output_, F_SETFL, O_NONBLOCK);
  Spawn what;
  what.arguments = std::move(arguments);
  what.descriptor_3 = board_descriptor;
  what.output = ends[1];
  what.death_signal = SIGTERM;
  what.signals = Spawn::Signals::own_group;
  try {
    pid_ = spawn(what);
  } catch (...) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw;
  }
  ::close(ends[1]);
}

TunerProcess::~TunerProcess() {
  if (!ended()) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(output_);
}

std::vector<std::string> TunerProcess::read_lines() {
  std::array<char, 65536> chunk;
  for (;;) {
    const ssize_t got = ::read(output_, chunk.data(), chunk.size());
    if (got > 0) pending_.append(chunk.data(), std::size_t(got));
    else if (got == 0 || errno != EINTR) break;
  }
  if (reaped_ && !pending_.empty() && pending_.back() != '\n') pending_ += '\n';
  std::vector<std::string> lines;
  std::size_t at = 0;
  for (std::size_t end; (end = pending_.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(pending_.substr(at, end - at));
  pending_.erase(0, at);
  return lines;
}

bool TunerProcess::ended() {
  if (reaped_) return true;
  const pid_t got = ::waitpid(pid_, &wait_status_, WNOHANG);
  const bool unknown = got < 0 && errno != EINTR;
  if (unknown) wait_status_ = W_EXITCODE(kExitUnknown, 0);
  reaped_ = got == pid_ || unknown;
  return reaped_;
}

void TunerProcess::ask_to_end() noexcept {
  if (!ended()) ::kill(pid_, SIGTERM);
}

}  // namespace tilesmith::tuner
