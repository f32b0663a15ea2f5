// Which config runs a problem, and why: exact → model → generic. The one place that decides it; pure: works on records
// already read. The order of measured times is db::rank's. The library (LibraryState::plan_by_choice) drops a choice
// whose kernel cannot be had, and asks again.
//
// exact    The same problem in every field, measured on this device: its best config (db/store/ranked.hpp) that may
//          run here. `trust` and `reason` say if it has to be verified again, which only a tuner can.
// model    The config with the shortest predicted time (time_model.hpp). Candidates are what was best, or nearly, for
//          any shape, transposes and type pair on record, and where no measured problem is near, the families' initial
//          configs. The fastest for the nearest sister (neighbour.hpp) that was measured here comes first, configs of
//          families that make no estimate come last.
// trial    On request of an application: of the model's first few the fastest, timed by the library (trial.hpp).
// generic  The config that refuses no problem, where nothing else can run, and where M, N or K is 0.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/store/record.hpp"
#include "db/store/trust.hpp"
#include "kernels/families/family.hpp"

namespace tilesmith::runtime {

enum class Level { exact, trial, model, generic };
std::string_view name(Level level);

struct Choice {
  Config config;
  Level level = Level::generic;
  std::string reason;       ///< one line: why this level and this config
  double predicted_us = 0;  ///< on the model level; elsewhere 0
  /// Exact: what the choice rests on. Model: the config's nearest measurement, if it has any.
  std::optional<db::Record> record;
  db::Trust trust = db::Trust::valid;  ///< of the record
  db::Environment environment;         ///< what would measure the config now; set where there is a record
  struct RunnerUp {
    Config config;
    Level level;
    double us = 0;  ///< measured on this problem (exact) or predicted for it (model)
    std::string note;
    bool last_resort = false;  ///< of a family that makes no estimate
  };
  std::vector<RunnerUp> runners_up;  ///< next best first, each config once, as many as were asked for
};

inline constexpr std::size_t kMostRunnersUp = 5;

/// One line: the choice's reason, and what its trust, which a caller may know better, asks of the tuner.
std::string reason_of(const Choice& choice);

/// The environment that this runtime would be, for a family.
using EnvironmentToJudgeBy = std::function<db::Environment(const std::string& family)>;

/// Whether measurements of one type pair say something of the other: operands as large, and both integers, 8-bit floats
/// or neither.
bool tell_of_each_other(const TypePair& a, const TypePair& b);

/// What a choice has to do without.
struct Without {
  std::set<std::string> configs;  ///< texts of configs whose kernels cannot be had
  bool compiling = false;         ///< then the model level has stored kernels only
};

/// Kernels that need not be compiled.
struct StoredKernels {
  std::function<bool(const Config&)> has;  ///< empty: what is stored is not known, and counts for nothing
  std::vector<Config> candidates;  ///< of these, what is to be considered beside what the records say: a bundle's
};

/// Chooses for one type pair and transposes on one device. Made once from the records, then asked for many problems.
/// Threads: choose() may be called by several at a time.
class Chooser {
 public:
  /// `entries`: records of devices of this compute capability, of any problem, in any order; those of other type pairs
  /// and transposes count as measurements on other problems. Where only those with status ok are given, nothing is
  /// known of later failures. They must outlive it. `device`: whose records are exact; null: every device's. On the
  /// model level a kernel that has to be compiled first must be predicted a tenth faster than a stored one.
  Chooser(std::span<const db::Record> entries, const KernelTarget& target, const EnvironmentToJudgeBy& now,
      const db::DeviceIdentity* device = nullptr, const StoredKernels& stored = {});
  ~Chooser();
  Chooser(Chooser&&) noexcept;
  Chooser& operator=(Chooser&&) noexcept;

  /// Never fails: the generic level takes whatever is left.
  /// `runners_up`: how many of them; with none an exact choice asks no model.
  Choice choose(const Problem& problem, const Without& without = {}, std::size_t runners_up = kMostRunnersUp) const;
  /// The first few of the model level, best first; none if M, N or K is 0.
  std::vector<Choice::RunnerUp> candidates(const Problem& problem, std::size_t most, const Without& without = {}) const;
  /// What these configs, legal for the target, are predicted to take, in us; infinite where one refuses the problem or
  /// nothing is known. Precondition: M, N, K ≥ 1.
  std::vector<double> predict(const Problem& problem, std::span<const Config> configs) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The same for a single problem.
Choice choose(std::span<const db::Record> entries, const Problem& problem, const KernelTarget& target,
    const EnvironmentToJudgeBy& now, const db::DeviceIdentity* device = nullptr);

}  // namespace tilesmith::runtime
