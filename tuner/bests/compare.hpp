// What became of the bests of one database in another: two nights, or two devices.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/exchange/export.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {

/// What became of a problem's best, in the order in which it is told: what asks for an answer first.
enum class Change {
  slower,  ///< by more than noise
  stale,   ///< the later database has times of it, and none that counts today
  gone,    ///< the later database has no time of it
  unlike,  ///< times of other measuring policies, which do not compare
  faster,  ///< by more than noise
  added,   ///< "new": the earlier database has no time of it
  same,    ///< within noise
};
inline constexpr std::array kChanges{
    Change::slower, Change::stale, Change::gone, Change::unlike, Change::faster, Change::added, Change::same};
std::string_view name(Change change);
std::optional<Change> parse_change(std::string_view text);

/// Differences below this count as noise, whatever the spreads: two runs of one kernel differ by as much.
inline constexpr double kSameWithin = 0.02;

struct ComparedProblem {
  Change change = Change::same;
  Problem problem;
  double weight = 1;
  /// What would run today; where nothing would, the fastest on record, whose trust says why it does not count.
  std::optional<db::JudgedBest> a, b;
  double noise = 0;  ///< what `speedup` may be off from 1 and mean nothing

  double a_us() const { return a ? a->record.outcome.timing->median_us : 0; }
  double b_us() const { return b ? b->record.outcome.timing->median_us : 0; }
  /// A's time over B's: above 1 B is faster. 0 where the two do not compare.
  double speedup() const;
  /// Why nothing can be said, where it is unlike or stale: "timed by policy cold-4 in A, cold-3 in B", "retired"; else
  /// empty.
  std::string because() const;
  const db::DeviceIdentity& device() const { return (b ? b : a)->record.device; }
};

struct Comparison {
  std::vector<ComparedProblem> problems;  ///< by change, then by how far they are off, weighted; what was lost first
  bool across_devices = false;            ///< one device each, and not the same
  bool weighted = false;                  ///< by a workload
  std::size_t in_neither = 0;             ///< problems of the workload that have a time in neither

  std::size_t count(Change change) const;
  std::size_t compared() const;                                   ///< those that have a speedup
  double mean_speedup() const;                                    ///< geometric, each problem once; 0 of none
  double a_us() const { return sum_us(&ComparedProblem::a_us); }  ///< weight × µs of all that compare
  double b_us() const { return sum_us(&ComparedProblem::b_us); }

 private:
  double sum_us(double (ComparedProblem::*side)() const) const;
};

struct CompareOptions {
  double within = kSameWithin;
  std::optional<Workload> workload;  ///< only its problems, with its weights
};

/// `a`, `b`: as bests_today() gives them with what is retired. Problems are paired by device. If both are of one device
/// each, they are paired whatever the device. Throws UsageError where they have no device in common and several are
/// there.
Comparison compare(
    const std::vector<db::JudgedBest>& a, const std::vector<db::JudgedBest>& b, const CompareOptions& options = {});

/// "3 slower, 1 stale (retired), 12 faster, 2 new, 40 same; 55 compare: B is 1.031 times as fast in the geometric mean,
/// and takes 0.968 of A's time".
std::string words_of(const Comparison& comparison);

}  // namespace tilesmith::tuner
