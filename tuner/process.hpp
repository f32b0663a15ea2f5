// A child process of this same executable that answers framed requests over a socket: how compilation and measuring are
// kept apart from the supervisor, so that a crash, a hang or a device fault costs one candidate and not the run.
//
// Frame: u32 JSON bytes, u32 blob bytes (little-endian), JSON, blob.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace tilesmith::tuner {

struct Message;  // { nlohmann::json json; std::vector<std::byte> blob; } in process_message.hpp

class WorkerProcess {
 public:
  /// Starts `/proc/self/exe` with these arguments; the child finds its socket as file descriptor 3.
  explicit WorkerProcess(std::vector<std::string> arguments);
  ~WorkerProcess();  ///< kills it if it still runs
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  bool send(const Message& message);  ///< false if the child is gone
  /// The next answer; nullopt if the child ended. Blocks.
  std::optional<Message> receive();
  int fd() const { return fd_; }      ///< for poll()
  pid_t pid() const { return pid_; }
  bool alive();
  void kill();                        ///< SIGKILL and reap
  /// How it ended, in words: "killed by signal 11 (Segmentation fault)", "exit status 3".
  std::string ending();

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  int wait_status_ = 0;
  bool reaped_ = false;
};

/// The child's side: answers each request until the supervisor goes away.
int serve(const std::function<Message(const Message&)>& answer);

}  // namespace tilesmith::tuner
