#include "tuner/workers/process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
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

#include "tuner/workers/spawn.hpp"
#include "tuner/workers/watch.hpp"

namespace tilesmith::tuner {
namespace {

using Header = std::array<std::uint32_t, 2>;  // bytes of the JSON, of the blob
constexpr std::size_t kHeaderBytes = sizeof(Header);
constexpr int kSendPatienceS = 30;
constexpr std::chrono::milliseconds kKillPatience{30000};

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

}  // namespace

// ---- Connection -----------------------------------------------------------------------------------------------------

Connection::~Connection() { close_if_open(fd_); }

Connection::Connection(Connection&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      pending_(std::move(other.pending_)),
      corruption_(std::move(other.corruption_)) {}

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
  const Header header{std::uint32_t(json.size()), std::uint32_t(message.blob.size())};
  return send_all(fd_, header.data(), kHeaderBytes) && send_all(fd_, json.data(), json.size()) &&
         send_all(fd_, message.blob.data(), message.blob.size());
}

Connection::Read Connection::parse(Message& message) {
  if (pending_.size() < kHeaderBytes) return Read::nothing_yet;
  Header header;
  std::memcpy(header.data(), pending_.data(), kHeaderBytes);
  const std::size_t json_bytes = header[0], blob_bytes = header[1];
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
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair for a worker process");
  }
  connection_ = Connection(sockets[0]);
  const timeval patience{kSendPatienceS, 0};
  ::setsockopt(sockets[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  Spawn what;
  what.executable = executable;
  what.arguments = std::move(arguments);
  what.descriptor_3 = sockets[1];
  static_assert(kWorkerSocket == 3);
  try {
    pid_ = spawn(what);
  } catch (...) {
    ::close(sockets[1]);
    throw;
  }
  ::close(sockets[1]);
}

WorkerProcess::~WorkerProcess() { kill(); }

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
  return ending_in_words(wait_status_);
}

void wait_for_input(
    const std::vector<int>& descriptors, std::optional<std::chrono::steady_clock::time_point> deadline) {
  std::vector<pollfd> waiting;
  for (int fd : descriptors) waiting.push_back({fd, POLLIN, 0});
  int timeout_ms =
      int(std::chrono::milliseconds(kLongestWait).count());  // whatever happens, the owner looks around then
  if (deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now());
    timeout_ms = int(std::clamp<std::int64_t>(left.count(), 0, timeout_ms));
  }
  ::poll(waiting.data(), waiting.size(), timeout_ms);  // an interrupted wait is an early look around
}

int serve(const std::function<Message(const Message&)>& answer) {
  Connection tuner(kWorkerSocket);
  while (std::optional<Message> request = tuner.receive()) {
    if (!tuner.send(answer(*request))) return 1;
  }
  return tuner.corruption().empty() ? 0 : 1;
}

}  // namespace tilesmith::tuner
