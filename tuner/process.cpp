#include "tuner/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kHeaderBytes = 8;
constexpr int kSendPatienceS = 30;
constexpr std::chrono::milliseconds kKillPatience{30000};

void put_u32(std::byte* at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = std::byte((value >> (8 * i)) & 0xff);
}

std::uint32_t get_u32(const std::byte* at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= std::uint32_t(at[i]) << (8 * i);
  return value;
}

bool send_all(int fd, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= std::size_t(sent);
  }
  return true;
}

void close_if_open(int& fd) noexcept {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

// What the child does between fork and exec. Only async-signal-safe calls: another thread of the supervisor may have
// held any lock when it forked.
[[noreturn]] void become(const char* executable, char* const* arguments, int socket, int report, pid_t supervisor) {
  const auto fail = [&] {
    const int error = errno;
    [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof(error));
    ::_exit(127);
  };
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail();
  if (::getppid() != supervisor) ::_exit(127);  // it ended before the line above took effect
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);  // ignored signals stay ignored across exec

  const int null = ::open("/dev/null", O_RDONLY);
  if (null >= 0) ::dup2(null, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);  // the supervisor's standard output carries results only
  // The socket moves to 3; the report pipe to 4, to be closed by exec when that succeeds.
  const int socket_copy = ::fcntl(socket, F_DUPFD, 16);
  const int report_copy = ::fcntl(report, F_DUPFD, 16);
  if (socket_copy < 0 || report_copy < 0) fail();
  if (::dup2(socket_copy, kWorkerSocket) < 0 || ::dup2(report_copy, kWorkerSocket + 1) < 0) fail();
  report = kWorkerSocket + 1;
  ::fcntl(report, F_SETFD, FD_CLOEXEC);
  // Descriptors of the supervisor (database, driver, other workers' sockets) must not live on in the child.
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, unsigned(kWorkerSocket + 2), ~0u, 0u) != 0)
#endif
  {
    for (int fd = kWorkerSocket + 2; fd < 1024; ++fd) ::close(fd);
  }
  ::execv(executable, arguments);
  fail();
  ::_exit(127);
}

}  // namespace

// ---- Connection -----------------------------------------------------------------------------------------------------

Connection::~Connection() { close_if_open(fd_); }

Connection::Connection(Connection&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), pending_(std::move(other.pending_)), corruption_(std::move(other.corruption_)) {}

Connection& Connection::operator=(Connection&& other) noexcept {
  if (this != &other) {
    close_if_open(fd_);
    fd_ = std::exchange(other.fd_, -1);
    pending_ = std::move(other.pending_);
    corruption_ = std::move(other.corruption_);
  }
  return *this;
}

bool Connection::send(const Message& message) {
  // Compiler output may hold any bytes; what is no UTF-8 is replaced and does not throw.
  const std::string json = message.json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (json.size() > kMaxFrameJsonBytes || message.blob.size() > kMaxFrameBlobBytes) return false;
  std::array<std::byte, kHeaderBytes> header;
  put_u32(header.data(), std::uint32_t(json.size()));
  put_u32(header.data() + 4, std::uint32_t(message.blob.size()));
  return send_all(fd_, header.data(), header.size()) && send_all(fd_, json.data(), json.size()) &&
         send_all(fd_, message.blob.data(), message.blob.size());
}

Connection::Read Connection::parse(Message& message) {
  if (pending_.size() < kHeaderBytes) return Read::nothing_yet;
  const std::size_t json_bytes = get_u32(pending_.data());
  const std::size_t blob_bytes = get_u32(pending_.data() + 4);
  if (json_bytes > kMaxFrameJsonBytes || blob_bytes > kMaxFrameBlobBytes) {
    corruption_ = fmt::format("sent a frame of {} + {} bytes, at most {} + {} are allowed", json_bytes, blob_bytes,
                              kMaxFrameJsonBytes, kMaxFrameBlobBytes);
    return Read::ended;
  }
  const std::size_t frame_bytes = kHeaderBytes + json_bytes + blob_bytes;
  if (pending_.size() < frame_bytes) return Read::nothing_yet;
  const char* text = reinterpret_cast<const char*>(pending_.data()) + kHeaderBytes;
  message.json = nlohmann::json::parse(text, text + json_bytes, nullptr, /*allow_exceptions=*/false);
  if (message.json.is_discarded()) {
    corruption_ = "sent a frame that is no JSON";
    return Read::ended;
  }
  const auto blob = pending_.begin() + std::ptrdiff_t(kHeaderBytes + json_bytes);
  message.blob.assign(blob, blob + std::ptrdiff_t(blob_bytes));
  pending_.erase(pending_.begin(), pending_.begin() + std::ptrdiff_t(frame_bytes));
  return Read::message;
}

Connection::Read Connection::try_receive(Message& message) {
  if (!corruption_.empty()) return Read::ended;
  std::array<std::byte, 65536> chunk;
  for (;;) {
    if (const Read read = parse(message); read != Read::nothing_yet) return read;
    const ssize_t got = ::recv(fd_, chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got > 0) {
      pending_.insert(pending_.end(), chunk.begin(), chunk.begin() + got);
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return Read::nothing_yet;
    } else {
      return Read::ended;
    }
  }
}

std::optional<Message> Connection::receive() {
  Message message;
  for (;;) {
    switch (try_receive(message)) {
      case Read::message: return message;
      case Read::ended: return std::nullopt;
      case Read::nothing_yet: break;
    }
    pollfd wait{fd_, POLLIN, 0};
    if (::poll(&wait, 1, -1) < 0 && errno != EINTR) return std::nullopt;
  }
}

// ---- WorkerProcess --------------------------------------------------------------------------------------------------

WorkerProcess::WorkerProcess(std::vector<std::string> arguments, const std::string& executable) {
  const std::string program = executable.empty() ? "/proc/self/exe" : executable;
  std::vector<std::string> owned{executable.empty() ? "tilesmith" : executable};
  owned.insert(owned.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : owned) argv.push_back(argument.data());
  argv.push_back(nullptr);

  int sockets[2], report[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair for a worker process");
  }
  connection_ = Connection(sockets[0]);
  const timeval patience{kSendPatienceS, 0};
  ::setsockopt(sockets[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (::pipe2(report, O_CLOEXEC) != 0) {
    const int error = errno;
    ::close(sockets[1]);
    throw std::system_error(error, std::generic_category(), "pipe for a worker process");
  }

  const pid_t supervisor = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(program.c_str(), argv.data(), sockets[1], report[1], supervisor);
  const int fork_error = errno;
  ::close(sockets[1]);
  ::close(report[1]);
  int error = pid_ < 0 ? fork_error : 0;
  // Empty when exec succeeded: its end was closed by it.
  while (pid_ > 0 && ::read(report[0], &error, sizeof(error)) < 0 && errno == EINTR) {
  }
  ::close(report[0]);
  if (error != 0) {
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
    reaped_ = true;
    throw std::system_error(error, std::generic_category(), "starting worker process " + program);
  }
}

WorkerProcess::~WorkerProcess() { kill(); }

bool WorkerProcess::send(const Message& message) { return connection_.send(message); }

std::optional<Message> WorkerProcess::receive() { return connection_.receive(); }

bool WorkerProcess::reap_within(std::chrono::milliseconds patience) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::chrono::microseconds nap{100};
  while (!reaped_) {
    const pid_t got = ::waitpid(pid_, &wait_status_, WNOHANG);
    if (got == pid_ || (got < 0 && errno != EINTR)) reaped_ = true;
    if (reaped_ || std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(nap);
    nap = std::min(nap * 2, std::chrono::microseconds(20000));
  }
  return reaped_;
}

bool WorkerProcess::alive() { return pid_ > 0 && !reap_within(std::chrono::milliseconds(0)); }

void WorkerProcess::kill() noexcept {
  if (pid_ <= 0 || reaped_) return;
  if (reap_within(std::chrono::milliseconds(0))) return;
  ::kill(pid_, SIGKILL);
  if (!reap_within(kKillPatience)) {
    reaped_ = true;  // stuck in the kernel: nothing more can be done to it from here
    wait_status_ = SIGKILL;
    try {
      spdlog::warn("worker process {} did not end within {} s of SIGKILL", pid_, kKillPatience.count() / 1000);
    } catch (...) {  // a destructor calls this: the log's own failure must not end the run
    }
  }
}

std::string WorkerProcess::ending() {
  if (!connection_.corruption().empty()) {
    kill();
    return connection_.corruption();
  }
  if (!reap_within(std::chrono::milliseconds(1000))) {
    kill();
    return "closed its socket and did not end";
  }
  if (WIFSIGNALED(wait_status_)) {
    const int signal = WTERMSIG(wait_status_);
    const char* text = ::strsignal(signal);
    return fmt::format("killed by signal {} ({})", signal, text ? text : "unknown");
  }
  return fmt::format("exit status {}", WEXITSTATUS(wait_status_));
}

int serve(const std::function<Message(const Message&)>& answer) {
  Connection supervisor(kWorkerSocket);
  while (std::optional<Message> request = supervisor.receive()) {
    if (!supervisor.send(answer(*request))) return 1;
  }
  return supervisor.corruption().empty() ? 0 : 1;
}

}  // namespace tilesmith::tuner
