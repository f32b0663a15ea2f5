// The measuring process, as the tuner watches it: one request at a time, a time limit for each of its stages, and a
// fresh process after a crash, a hang or a device fault. Single-threaded: its owner polls descriptor() until deadline()
// and calls collect().
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "db/store/record.hpp"
#include "tuner/workers/measure_session.hpp"
#include "tuner/workers/process.hpp"
#include "tuner/workers/watch.hpp"

namespace tilesmith::tuner {

class MeasureProcess {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts the process at once; it is ready some seconds later. `as`: the architecture whose code the device runs;
  /// empty: its own. `time_limit`: of one phase of one candidate, while it is watched (watch.hpp).
  MeasureProcess(int device, std::string as, std::chrono::duration<double> time_limit, std::string executable = {},
      Watch watch = Watch());

  bool idle() const { return state_ == State::idle; }
  bool busy() const { return state_ == State::busy; }

  /// Precondition: idle(). False if the process had ended since (a fresh one is then on its way): ask again when idle.
  bool request(const Message& message);

  struct Answer {
    std::optional<Message> message;  ///< what it answered; none if it did not live to
    db::Outcome failure;  ///< then: timed_out or device_fault, with words; the machine's if it was killed from outside
    Phase phase = Phase::loading;  ///< the last that it told of
  };
  /// The answer to the request if it is there by now. Also sees to the process's start and restart. Throws
  /// EvaluatorError if it fails to start three times in a row, or says that its environment is broken; the request is
  /// then lost, and a fresh process is started.
  std::optional<Answer> collect();

  /// Gives up the request, if there is one, with the process that works on it.
  void give_up();

  /// -1 while there is no process (between two attempts to start it).
  int descriptor() const;
  std::optional<Clock::time_point> deadline() const;

 private:
  enum class State { down, starting, idle, busy };
  void start();
  Clock::time_point from_now(double seconds);
  void start_failed(const std::string& reason);
  void await_ready();
  void note_clock_probe(const Message& message);
  void note_phase(Phase phase, bool new_problem);
  void restart();
  Answer ended(db::Status status, const std::string& how);
  std::optional<Answer> await_answer();

  int device_;
  std::string as_;
  std::chrono::duration<double> time_limit_;
  std::string executable_;
  Watch watch_;
  std::unique_ptr<WorkerProcess> process_;
  State state_ = State::down;
  Clock::time_point deadline_{};  ///< watched; down: when to start again; starting, busy: when to give it up
  Phase phase_ = Phase::loading;
  double limit_s_ = 0;  ///< of the present phase
  int failed_starts_ = 0;
  double clock_probe_us_ = 0;  ///< as the process before had it: the next one measures drift against it
};

}  // namespace tilesmith::tuner
