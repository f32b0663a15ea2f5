// Shows how a tuning or compiling run goes: a redrawn block on a terminal, else plain log lines.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "db/store/record.hpp"
#include "tuner/loop/tune.hpp"
#include "tuner/peaks.hpp"

namespace tilesmith::tuner {

/// What the turn that `now` ends says of the problem's future: "" in its first and only turn of a run without a budget.
std::string prospect_text(const Progress& now);

/// For `tune`. One log line a finished turn; on a terminal a status block, else a line about every 10 s.
class TuneProgress {
 public:
  /// `rate` gives the rate of a time on the device.
  explicit TuneProgress(std::function<Rate(const Problem&, double us)> rate) : rate_(std::move(rate)) {}
  ~TuneProgress();
  TuneProgress(const TuneProgress&) = delete;
  TuneProgress& operator=(const TuneProgress&) = delete;

  void update(const Progress& now);
  /// The last turn's line, and the block goes.
  void finish();

 private:
  void log_outcome(const Progress& now);
  void log_finished_turn() const;
  std::string best_text(const Progress& now) const;
  std::string time_left(const Progress& now) const;

  using Clock = std::chrono::steady_clock;
  std::function<Rate(const Problem&, double us)> rate_;
  std::optional<Progress> last_;
  std::set<std::string> told_;  // families, of which a kernel did not compile
  double turn_began_s_ = 0;
  Clock::time_point drawn_{};
};

/// For `compile`: counts by status.
class CompileProgress {
 public:
  explicit CompileProgress(std::size_t total) : total_(total), began_(Clock::now()) {}
  ~CompileProgress();
  CompileProgress(const CompileProgress&) = delete;
  CompileProgress& operator=(const CompileProgress&) = delete;

  void update(const db::KernelBuild& build, bool reused);
  double seconds() const;
  bool failed_all() const { return done_ > 0 && failed_ == done_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::size_t total_;
  std::set<std::string> told_;
  std::size_t done_ = 0, ok_ = 0, spilled_ = 0, failed_ = 0, reused_ = 0;
  Clock::time_point began_;
  Clock::time_point shown_{};
};

/// For what is only counted, or takes long as a whole: on a terminal a status line, else a line on stderr after half a second, then every
/// 10 s, by a thread of its own, whether anything was counted meanwhile or not.
class CountProgress {
 public:
  explicit CountProgress(std::string what);
  ~CountProgress();
  CountProgress(const CountProgress&) = delete;
  CountProgress& operator=(const CountProgress&) = delete;

  /// On any thread.
  void update(std::size_t done, std::size_t total) { done_ = done, total_ = total; }

 private:
  std::atomic<std::size_t> done_{0}, total_{0};
  std::jthread shower_;  // the last: it uses the others
};

}  // namespace tilesmith::tuner
