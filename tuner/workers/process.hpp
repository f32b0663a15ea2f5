// A child process of this same executable that answers framed requests over a socket: how compilation and measuring are
// kept apart from the tuner, so that a crash, a hang or a device fault costs one candidate and not the run. "Tuner"
// here is whichever command started the process: `compile` and `verify` do, too.
//
// Frame: u32 JSON bytes, u32 blob bytes (of this machine, which both ends run on), JSON, blob. A frame that breaks a
// limit below, or whose JSON does not parse, counts as the end of the peer: nothing after it can be trusted.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tilesmith::tuner {

inline constexpr std::size_t kMaxFrameJsonBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxFrameBlobBytes = std::size_t{512} << 20;

/// The socket of a worker process, in the worker.
inline constexpr int kWorkerSocket = 3;

struct Message {
  nlohmann::json json;
  std::vector<std::byte> blob;
};

/// One end of the socket; owns the descriptor. Used by one thread.
class Connection {
 public:
  explicit Connection(int fd) : fd_(fd) {}
  ~Connection();
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;

  /// False if the peer is gone, or takes nothing for 30 s.
  bool send(const Message& message);

  enum class Read { message, nothing_yet, ended };
  /// Takes what has arrived, without waiting; fills `message` when a frame is complete.
  Read try_receive(Message& message);
  /// Waits for a frame; nullopt if the peer ended or the frame was corrupt.
  std::optional<Message> receive();

  int fd() const { return fd_; }
  /// What was wrong with the last frame; empty if nothing was.
  const std::string& corruption() const { return corruption_; }

 private:
  Read parse(Message& message);

  int fd_ = -1;
  std::vector<std::byte> pending_;  ///< received, not yet a whole frame
  std::string corruption_;
};

class WorkerProcess {
 public:
  /// Starts `executable` (empty: own_program(), see spawn.hpp) with these arguments; the child finds its socket as
  /// file descriptor 3. It is killed when the tuner's thread ends, and ignores SIGINT, SIGTERM and SIGHUP: ending a
  /// run is the tuner's decision. Throws std::system_error if it cannot be started.
  explicit WorkerProcess(std::vector<std::string> arguments, const std::string& executable = {});
  ~WorkerProcess();  ///< kills it if it still runs
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  bool send(const Message& message) { return connection_.send(message); }  ///< false if the child is gone
  /// The next answer; nullopt if the child ended. Blocks.
  std::optional<Message> receive() { return connection_.receive(); }
  /// Without waiting; `ended` also for a corrupt frame.
  Connection::Read try_receive(Message& message) { return connection_.try_receive(message); }
  int fd() const { return connection_.fd(); }  ///< for poll()
  pid_t pid() const { return pid_; }
  bool alive();
  /// SIGKILL and reap. A process that the driver holds in the kernel for longer than 30 s is left to init, and logged.
  void kill() noexcept;
  /// How it ended, in words: "killed by signal 11 (Segmentation fault)", "exit status 3". Waits up to a second for a
  /// child that has closed its socket but not yet ended; kills it then.
  std::string ending();

 private:
  bool reap_within(std::chrono::milliseconds patience) noexcept;

  pid_t pid_ = -1;
  Connection connection_{-1};
  int wait_status_ = 0;
  bool reaped_ = false;
};

/// Waits until one of the descriptors has something to read or the deadline has passed.
void wait_for_input(const std::vector<int>& descriptors, std::optional<std::chrono::steady_clock::time_point> deadline);

/// The child's side: answers each request until the tuner goes away. Returns the process's exit status.
int serve(const std::function<Message(const Message&)>& answer);

}  // namespace tilesmith::tuner
