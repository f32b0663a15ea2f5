// Which runs and entries a report is about, how long they took, and times of the database as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/store/store.hpp"

namespace tilesmith::tuner::report {

/// A run of the store, or one that only its entries tell of (imported records name runs of other machines).
struct RunFigures {
  db::Run run;  ///< only the uuid if the store has no record of it
  bool recorded = false;
  double began = 0;  ///< seconds since 1970: its record's start, else its first entry
  double ended =
      0;  ///< its record's end, else its last sign of life: its last entry, or its start; never before `began`
  std::size_t entries = 0;
  std::int64_t last_entry = 0;  ///< the id of its last entry; of one without entries that of the next run
  bool open() const { return recorded && run.ended_at.empty(); }  ///< still at work, or killed
  /// When the run had the entry, seconds since 1970: within the run, since what it took from a recording has the time
  /// of the recording.
  double moment(const db::Record& entry) const;
};

/// One stretch of work, in seconds since 1970.
struct Stretch {
  double began = 0, ended = 0;
};

struct Selection {
  std::vector<RunFigures> runs;                     ///< oldest first
  std::vector<const db::Record*> entries;           ///< of these runs, since then; oldest first
  std::vector<const db::Record*> before;            ///< older ones and those of other runs meanwhile; oldest first
  std::vector<Stretch> stretches;                   ///< when those with entries were at work; they do not overlap
  double moment_of(const db::Record& entry) const;  ///< of one of these runs: RunFigures::moment()
  double seconds() const;
  double seconds_until(double moment) const;  ///< at work before a moment
};

/// Pauses longer than this are no work, where only entries tell when a run was at work. An open run is taken to be at
/// work for so long after its last entry.
inline constexpr double kLongestPause = 600;

/// Every run of the store: recorded ones, and those that the entries name. Oldest first, whatever clocks said.
std::vector<RunFigures> runs_of(const std::vector<db::Record>& entries, const std::vector<db::Run>& records);

/// `wanted`: "latest", "all", or a uuid or the beginning of one. Empty result: there is none, or several begin so. The
/// latest are several where runs of the same host and workload overlap: each tuner of a `tune --device all` has a run
/// of its own.
std::vector<RunFigures> matching_runs(const std::vector<RunFigures>& runs, const std::string& wanted);

/// `entries`: oldest first; they must outlive the selection. Entries later than the last selected one are left out.
Selection select(const std::vector<db::Record>& entries, std::vector<RunFigures> runs, std::optional<double> since);

/// Seconds since 1970 of "2026-01-31T23:59:59[.123]Z"; nullopt if it has another form.
std::optional<double> utc_seconds(std::string_view text);
/// "2026-01-31T23:59:59.123Z".
std::string utc_text(double seconds);
/// "2026-01-31 23:59", for people.
std::string utc_minutes(double seconds);

/// A moment as a user gives it: "2026-01-31", "2026-01-31T22:00", "2026-01-31 22:00:30", with or without "Z".
std::optional<double> parse_moment(std::string_view text);

}  // namespace tilesmith::tuner::report
