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
#include "tuner/cli/output/terminal.hpp"
#include "tuner/loop/tune.hpp"
#include "tuner/peaks.hpp"

namespace tilesmith::tuner {

/// What the time slice that `now` ends says of the problem's future: "" in its only time slice of a run without a
/// budget.
std::string prospect_text(const Progress& now);

/// When a line about progress is due, and where it goes: on a terminal a status line, ten times a second, until this
/// ends; else a log line every 10 s, the first after 10 s.
class ProgressLine {
 public:
  bool is_due();
  /// With a bar before it on a terminal, unless `fraction` is negative.
  static void show(const std::string& line, double fraction = -1);

 private:
  std::chrono::steady_clock::time_point shown_ = first_shown();
  static std::chrono::steady_clock::time_point first_shown();
  ClearedStatus cleared_;
};

/// For `tune`. One log line a finished time slice; on a terminal a status block, else a line about every 10 s.
class TuneProgress {
 public:
  /// `rate` gives the rate of a time on the device.
  explicit TuneProgress(std::function<Rate(const Task&, double us)> rate) : rate_(std::move(rate)) {}

  void update(const Progress& now);
  /// The last time slice's line, and the block goes.
  void finish();

 private:
  void log_outcome(const Progress& now);
  void log_finished_slice() const;
  std::string best_text(const Progress& now) const;
  std::string time_left(const Progress& now) const;

  std::function<Rate(const Task&, double us)> rate_;
  std::optional<Progress> last_;
  std::set<std::string> told_;  // families, of which a kernel did not compile
  double slice_began_s_ = 0;
  ProgressLine line_;
};

/// The first error of each family, as it comes.
void tell_compile_error(std::set<std::string>& told, const Config& config, const std::string& message);

/// For what is only counted, or takes long as a whole: on a terminal a status line, else a line on stderr after half a
/// second, then every 10 s, by a thread of its own, whether anything was counted meanwhile or not.
class CountProgress {
 public:
  explicit CountProgress(std::string what);

  /// On any thread.
  void operator()(std::size_t done, std::size_t total) { done_ = done, total_ = total; }

 private:
  ClearedStatus cleared_;
  std::atomic<std::size_t> done_{0}, total_{0};
  std::jthread shower_;  // the last: it uses the others
};

}  // namespace tilesmith::tuner
