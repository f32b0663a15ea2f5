// The figures of a report: all that the page says, computed from records and runs alone.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "db/exchange/export.hpp"
#include "db/store/store.hpp"
#include "db/store/trust.hpp"
#include "tuner/bench_csv.hpp"
#include "tuner/bests/compare.hpp"
#include "tuner/peaks.hpp"
#include "tuner/report/selection.hpp"
#include "tuner/schedule/expected_gain.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner::report {

// The device over the night: clock, temperature, power and drift, as the entries with a time carry them.

/// A clock below this share of the run's highest is marked.
inline constexpr double kLowClock = 0.95;

struct Reading {
  double time = 0;  ///< seconds since 1970
  double value = 0;
  bool marked = false;
};

struct Series {
  std::string name, unit;
  std::string mark;  ///< what a marked reading is; empty: nothing is marked here
  std::vector<Reading> readings;
  std::size_t marked = 0;

  double lowest() const;
  double highest() const;
  double median() const;
};

struct Telemetry {
  db::DeviceIdentity device;
  std::size_t timed = 0;       ///< entries with a time
  std::vector<Series> series;  ///< SM clock, temperature, power, drift: those of which the entries know anything
};

/// `entries`: oldest first, all of this device.
Telemetry telemetry_of(const db::DeviceIdentity& device, const std::vector<const db::Record*>& entries);

// What another hour would go to: dealt out in minutes, each to the problem where it is expected to save the most,
// weight × time (expected_gain.hpp). Problems with fewer than kLeastEvaluations say nothing yet: they come first, up to
// so many each.

inline constexpr int kMinutes = 60;

/// What is known of one problem.
struct OutlookProblem {
  double weight = 1;
  double best_us = 0;                 ///< 0: none
  double spread = 0;                  ///< of the best's time
  double floor_us = 0;                ///< as floor_us() finds; 0: unknown
  double seconds_per_evaluation = 0;  ///< 0: unknown
  std::vector<double> curve_us;       ///< best after each evaluation, 0 while there is none
};

enum class Prospect {
  gains,    ///< its last doubling brought something
  settled,  ///< it brought nothing beyond the spread
  too_few,  ///< fewer than kLeastEvaluations
  no_time,  ///< no candidate passed, of enough evaluations
};

struct ProblemOutlook {
  Prospect prospect = Prospect::settled;
  double last_doubling = 0;  ///< g; 0 unless `gains`
  double minutes = 0;        ///< of the hour
  double evaluations = 0;    ///< in these minutes
  double expected_us = 0;    ///< after them; 0 unless `gains`
  double saved_us = 0;       ///< weight × (best − expected)
};

struct Outlook {
  std::vector<ProblemOutlook> problems;  ///< as given
  std::vector<std::size_t> ranking;      ///< those that get time: too_few first, then by what is saved
  double minutes_unused = 0;             ///< nothing is expected of them
};

Outlook outlook(const std::vector<OutlookProblem>& problems);

/// What a best time is measured against.
struct Baseline {
  enum class Kind {
    none,          ///< no candidate passed
    known,         ///< the best that the database held before
    first_config,  ///< the first candidate that passed
  };
  Kind kind = Kind::none;
  double us = 0;  ///< of its latest entry: timed beside the best if it came into the same final benchmark
};

struct PeerRatio {
  bool refused = false;   ///< the peer has no algorithm for it
  double ratio = 0;       ///< peer's time over ours
  bool same_run = false;  ///< timed interleaved with this very config; else two runs are compared
};

/// How the best of a problem came about.
struct Convergence {
  std::size_t before = 0;        ///< how many of the evaluations were before what is reported
  std::vector<double> best_us;   ///< after each evaluation, the earlier ones included; 0 while there is none
  std::vector<double> times_us;  ///< of each evaluation; 0: it failed

  std::size_t reported() const { return best_us.size() - before; }
  /// The best known when what is reported began; 0: none.
  double best_before_us() const { return before == 0 ? 0 : best_us[before - 1]; }
};

struct ProblemFigures {
  db::DeviceIdentity device;
  Problem problem;
  double weight = 1;
  std::size_t evaluations = 0;     ///< entries reported
  std::size_t tried = 0;           ///< candidates among them
  std::size_t failed = 0;          ///< of these, whose latest entry is no time
  std::optional<db::Record> best;  ///< what counts now, found before or in what is reported
  bool best_is_new = false;
  std::size_t best_found_after = 0;  ///< evaluations of what is reported; 0 if it was known before
  double best_found_at = 0;          ///< seconds of work after the beginning; 0 if it was known before
  double seconds = 0;                ///< spent on it
  Baseline baseline;
  Convergence convergence;
  std::optional<PeerRatio> peer;

  /// Baseline over best; 0 without both.
  double gain() const { return best && baseline.us > 0 ? baseline.us / best->outcome.timing->median_us : 0; }
};

/// Messages that differ in their numbers alone.
struct FailureMessage {
  std::size_t count = 0;
  db::Record example;  ///< the latest of them
};

struct FailureKind {
  db::Status status = db::Status::illegal;
  std::size_t count = 0;
  std::vector<FailureMessage> messages;  ///< most frequent first, at most kMostMessages
  std::size_t other_messages = 0;        ///< how many failures the others make up
};

struct ReportOptions {
  std::vector<db::JudgedBest> kernels;  ///< the bests of kernels of one's own, which are loaded
  std::optional<double> since;
  std::string database;              ///< path, for the page
  std::optional<Workload> workload;  ///< gives weights, and what was to be tuned
  std::vector<BenchRow> bench;
  std::string bench_name;                  ///< path, for the page; empty: no CSV
  std::optional<Comparison> against = {};  ///< of the bests of another database (A) with those of this one (B)
  std::string against_name;                ///< path, for the page
  db::VendorIndex vendor = {};             ///< what the vendor took, where no CSV tells it
  std::string made_at;                     ///< ISO 8601 UTC
};

struct Report {
  ReportOptions options;
  Selection selection;
  std::vector<db::DeviceIdentity> devices;
  std::vector<ProblemFigures> problems;   ///< by device, type pair, transposes, M, N, K
  std::vector<WeightedTask> not_reached;  ///< of the workload
  std::size_t entries = 0;                ///< reported ones
  std::size_t tried = 0, failed = 0;      ///< candidates
  std::size_t left_out = 0;               ///< reported entries by former kernels, options or measuring policies
  double began = 0, ended = 0;            ///< of the whole, seconds since 1970
  double seconds = 0;                     ///< at work
  std::vector<FailureKind> failures;
  std::vector<Telemetry> telemetry;     ///< a device each
  Outlook outlook;                      ///< in the order of `problems`
  std::vector<std::string> provenance;  ///< "driver 580, NVRTC 13.0, measuring policy cold-4", each once
};

/// `entries`: oldest first; the report points into them. `runs`: those to report (matching_runs).
Report make_report(const std::vector<db::Record>& entries, std::vector<RunFigures> runs, ReportOptions options);

struct Mean {
  double value = 0;  ///< geometric; 0 of nothing
  std::size_t count = 0;
};
/// Of those above 0.
Mean geometric_mean(const std::vector<double>& values);
/// Of the gains of all problems against baselines of this kind.
Mean mean_gain(const Report& report, Baseline::Kind kind);
Mean mean_gain(const Report& report);
Mean mean_peer_ratio(const Report& report);
/// Whether anything is known of the vendor, or was to be.
bool has_peer(const Report& report);

// The figures of one problem on one device.

/// Entries of one problem on one device, oldest first, as they are judged today: not retired, and of today's measuring
/// policy.
struct ProblemEntries {
  std::vector<db::Judged> before, reported;
};

/// `work`: tells how long was worked until the best was found.
ProblemFigures figures_of(const ProblemEntries& entries, const Selection& work);

/// The latest reported entry of each candidate, of those that are no times.
std::vector<const db::Record*> failed_candidates(const ProblemEntries& entries);

/// Most frequent kind first. `failed`: one entry a candidate.
inline constexpr std::size_t kMostMessages = 5;
std::vector<FailureKind> failures_by_kind(const std::vector<const db::Record*>& failed);

/// What a tuner stored of it: the vendor's best beside this very best, or that it refused the problem.
std::optional<PeerRatio> stored_peer_ratio(const ProblemFigures& figures, const db::VendorIndex& vendor);
/// From the rows of the CSV file that are about this problem; nullopt if there are none.
std::optional<PeerRatio> peer_ratio(const ProblemFigures& figures, const std::vector<BenchRow>& rows);

}  // namespace tilesmith::tuner::report
