// Measured problems that differ from one asked for in nothing but epilogue, where α and β are, and beta class (are_sisters): what is fast for
// one is so for the other.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "db/store/ranked.hpp"

namespace tilesmith::runtime {

class Sisters {
 public:
  /// It must outlive this.
  void add(const db::RankedProblem& measured);

  /// Those of the problem, the nearest first (neighbour.hpp); of equally near ones the plainest. None where a plain problem's nearest is
  /// plain, too: the model knows the same kernels' times best.
  std::vector<const db::RankedProblem*> nearest_first(const Problem& problem) const;

 private:
  std::multimap<std::string, const db::RankedProblem*> by_plainest_;  // by the text that sisters share
};

}  // namespace tilesmith::runtime
