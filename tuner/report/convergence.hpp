// How the best of one problem came about: which config was the fastest known after each evaluation.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/evidence.hpp"

namespace tilesmith::tuner::report {

/// The best by the latest entry of each candidate, entry after entry: the view `best`, as it would have answered then. So
/// a best time may rise, where a play-off times a lucky winner again.
class BestKnown {
 public:
  void add(const db::Evidence& entry);
  /// The best's latest entry; null while there is none.
  const db::Evidence* best() const;
  double best_us() const;  ///< 0 while there is none
  /// A config's latest entry; null if it has none.
  const db::Evidence* latest(const std::string& config) const;

 private:
  std::map<std::string, const db::Evidence*> latest_;
  std::set<std::pair<double, std::string>> ranking_;
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
