#include "tuner/workers/measure_process.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "tuner/evaluator.hpp"
#include "tuner/workers/family_arguments.hpp"
#include "tuner/workers/protocol.hpp"
#include "tuner/workers/spawn.hpp"

namespace tilesmith::tuner {

constexpr std::chrono::seconds kStartLimit{120};  // a context on a busy host, helper kernels compiled, clocks settled
constexpr int kMostFailedStarts = 3;
constexpr std::chrono::milliseconds kRestartPause{500};
// The first candidate of a task waits for its operands and its reference, which a slow device needs a while for. A
// final benchmark times several.
constexpr double kLongPhaseFactor = 3;

MeasureProcess::MeasureProcess(
    int device, std::string as, std::chrono::duration<double> time_limit, std::string executable, Watch watch)
    : device_(device),
      as_(std::move(as)),
      time_limit_(time_limit),
      executable_(std::move(executable)),
      watch_(std::move(watch)) {
  start();
}

MeasureProcess::Clock::time_point MeasureProcess::from_now(double seconds) {
  return watch_.look() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

void MeasureProcess::start() {
  std::vector<std::string> arguments{"worker", "measure", "--device", std::to_string(device_)};
  if (!as_.empty()) {
    arguments.push_back("--as");
    arguments.push_back(as_);
  }
  if (clock_probe_us_ > 0) {
    arguments.push_back("--clock-probe-us");
    arguments.push_back(fmt::format("{}", clock_probe_us_));
  }
  process_ = std::make_unique<WorkerProcess>(with_family_dirs(std::move(arguments)), executable_);
  state_ = State::starting;
  deadline_ = watch_.look() + kStartLimit;
}

void MeasureProcess::start_failed(const std::string& reason) {
  process_.reset();
  state_ = State::down;
  deadline_ = watch_.look() + kRestartPause * (1 << std::min(++failed_starts_, kMostFailedStarts));
  if (failed_starts_ >= kMostFailedStarts) {
    throw EvaluatorError(
        fmt::format("the measuring process did not start, tried {} times: {}", failed_starts_, reason));
  }
  spdlog::warn("the measuring process did not start: {}; tried again", reason);
}

/// What a process that takes the place of this one is to measure drift against.
void MeasureProcess::note_clock_probe(const Message& message) {
  if (!message.json.is_object()) return;
  const auto clock_probe = message.json.find("clock_probe_us");
  if (clock_probe != message.json.end() && clock_probe->is_number()) clock_probe_us_ = clock_probe->get<double>();
}

void MeasureProcess::await_ready() {
  Message message;
  const bool is_late = watch_.look() >= deadline_;
  switch (process_->try_receive(message)) {
    case Connection::Read::ended: start_failed(process_->ending()); return;
    case Connection::Read::nothing_yet:
      if (is_late) start_failed(fmt::format("not ready within {} s", kStartLimit.count()));
      return;
    case Connection::Read::message: break;
  }
  if (const auto fatal = fatal_error(message)) {
    start_failed(*fatal);
  } else if (!message.json.is_object() || !message.json.contains("ready")) {
    start_failed("its first message is malformed");
  } else {
    note_clock_probe(message);
    failed_starts_ = 0;
    state_ = State::idle;
  }
}

void MeasureProcess::note_phase(Phase phase, bool new_problem) {
  phase_ = phase;
  limit_s_ = time_limit_.count() * (new_problem || phase == Phase::final_benchmark ? kLongPhaseFactor : 1);
  deadline_ = from_now(limit_s_);
}

void MeasureProcess::restart() {
  process_.reset();
  state_ = State::down;
  deadline_ = watch_.look();
}

void MeasureProcess::give_up() {
  if (busy()) restart();
}

bool MeasureProcess::request(const Message& message) {
  if (!idle()) throw std::logic_error("the measuring process has a request already, or is not ready");
  if (!process_->alive() || !process_->send(message)) {
    spdlog::warn("the measuring process ended while idle ({}); started again", process_->ending());
    restart();
    return false;
  }
  state_ = State::busy;
  note_phase(message.json.value("do", "") == "final_benchmark" ? Phase::final_benchmark : Phase::loading, false);
  return true;
}

MeasureProcess::Answer MeasureProcess::ended(db::Status status, const std::string& how) {
  const Answer answer{std::nullopt, {status, fmt::format("{}: {}", name(phase_), how), std::nullopt}, phase_};
  restart();  // at once: what happened was the candidate's doing, and the next waits
  return answer;
}

std::optional<MeasureProcess::Answer> MeasureProcess::await_answer() {
  for (;;) {
    Message message;
    const bool is_late = watch_.look() >= deadline_;
    switch (process_->try_receive(message)) {  // also of a late one: it may have been in time
      case Connection::Read::nothing_yet:
        if (!is_late) return std::nullopt;
        process_->kill();
        return ended(db::Status::timed_out, fmt::format("did not end within {:g} s", limit_s_));
      case Connection::Read::ended: {
        const std::string ending = process_->ending();
        Answer answer = ended(db::Status::device_fault, "the measuring process ended: " + ending);
        answer.failure.by_machine = is_killed_from_outside(ending);
        return answer;
      }
      case Connection::Read::message: break;
    }
    if (const auto note = phase_note(message)) {
      note_phase(note->phase, note->new_problem);
      continue;
    }
    if (const auto fatal = fatal_error(message)) {
      restart();
      throw EvaluatorError("measuring is not possible: " + *fatal);
    }
    note_clock_probe(message);
    Answer answer{std::move(message), {}, phase_};
    const auto took = answer.message->json.find("took");
    if (took != answer.message->json.end() && took->is_string())
      spdlog::debug("measured: {}", took->get<std::string>());
    const auto lost = answer.message->json.find("context_lost");
    if (lost != answer.message->json.end() && lost->is_boolean() && lost->get<bool>()) {
      restart();  // it is about to end by itself
    } else {
      state_ = State::idle;
    }
    return answer;
  }
}

std::optional<MeasureProcess::Answer> MeasureProcess::collect() {
  switch (state_) {
    case State::down:
      if (watch_.look() >= deadline_) start();
      return std::nullopt;
    case State::starting: await_ready(); return std::nullopt;
    case State::busy: return await_answer();
    case State::idle: break;
  }
  return std::nullopt;
}

int MeasureProcess::descriptor() const {
  return process_ && (state_ == State::starting || state_ == State::busy) ? process_->fd() : -1;
}

std::optional<MeasureProcess::Clock::time_point> MeasureProcess::deadline() const {
  if (state_ == State::idle) return std::nullopt;
  return watch_.on_clock(deadline_);
}

}  // namespace tilesmith::tuner
