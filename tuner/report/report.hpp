// The figures of a report: all that the page says, computed from records and runs alone.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "db/exchange/export.hpp"
#include "db/store/store.hpp"
#include "tuner/bench_csv.hpp"
#include "tuner/bests/compare.hpp"
#include "tuner/peaks.hpp"
#include "tuner/report/outlook.hpp"
#include "tuner/report/selection.hpp"
#include "tuner/report/telemetry.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner::report {

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

}  // namespace tilesmith::tuner::report
