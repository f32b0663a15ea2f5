// What the search of one problem starts from: its space, what is already known of it, and what is worth trying first.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "tuner/evaluator.hpp"
#include "tuner/search/strategy.hpp"

namespace tilesmith::tuner {

struct StartingPoint {
  /// An outcome of the store that needs no repeating.
  struct Known {
    std::size_t index = 0;
    db::Outcome outcome;
    bool repeated = false;  ///< measured more than once: it was in a play-off
  };
  SearchSpace space;
  std::vector<Known> known;
  /// Best guess first: this problem's configs to re-verify, the fastest few whose evidence is retired, the bests of other
  /// problems, then the families' own. May hold known ones, and some twice.
  std::vector<std::size_t> seeds;
};

class StartingPoints {
 public:
  /// `families` empty: all. Throws std::invalid_argument if one is unknown.
  StartingPoints(const std::vector<std::string>& families, Evaluator& evaluator, const db::Store& store);
  /// Only valid evidence is known. What is retired proves nothing: its configs are seeds at most. The problem has
  /// M, N, K ≥ 1.
  StartingPoint of(const Problem& problem);

  const db::Producer& producer(const std::string& family);

 private:
  /// Enumerated anew (a second or two) only where neither this nor one of the last few problems had the type pair and
  /// transposes. Valid until the next call.
  const std::vector<Space>& spaces_of(const Problem& problem);
  void add_evidence(StartingPoint& start, const Problem& problem);
  void add_bests_of_other_problems(StartingPoint& start, const Problem& problem) const;
  void add_family_seeds(StartingPoint& start, const Problem& problem) const;

  std::vector<const Family*> families_;
  Evaluator& evaluator_;
  const db::Store& store_;
  std::map<std::string, db::Producer> producers_;
  /// The families' spaces for one type pair and transposes.
  struct KeptSpaces {
    TypePair type;
    Transposes trans;
    std::vector<Space> spaces;
  };
  std::vector<KeptSpaces> kept_;  // the last used first, and few: one entry takes 100 to 215 MB
};

}  // namespace tilesmith::tuner
