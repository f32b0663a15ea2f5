// How the best of one problem came about: which config was the fastest known after each evaluation.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "db/store/ranked.hpp"
#include "db/store/trust.hpp"

namespace tilesmith::tuner::report {

/// The best by the one ranking (db/store/ranked.hpp) of the latest entry of each candidate, entry after entry. So a best time may rise, where a
/// final benchmark times a lucky winner again, or where the first of today's driver comes.
class BestKnown {
 public:
  /// Later than all before; `entry` as it is judged today, not retired and of today's measuring policy.
  void add(const db::Judged& entry);
  /// The best's latest entry; null while there is none.
  const db::Record* best() const;
  double best_us() const;  ///< 0 while there is none
  /// A config's latest entry; null if it has none.
  const db::Record* latest(const std::string& config) const;

 private:
  std::map<std::string, db::Judged> latest_;
  std::set<db::Judged, decltype(&db::ranks_before)> ranking_{&db::ranks_before};
};

struct Convergence {
  std::size_t before = 0;        ///< how many of the evaluations were before what is reported
  std::vector<double> best_us;   ///< after each evaluation, the earlier ones included; 0 while there is none
  std::vector<double> times_us;  ///< of each evaluation; 0: it failed

  std::size_t reported() const { return best_us.size() - before; }
  /// The best known when what is reported began; 0: none.
  double best_before_us() const { return before == 0 ? 0 : best_us[before - 1]; }
};

}  // namespace tilesmith::tuner::report
