// A config of the model level, and its place among others.
#pragma once

#include <string>

#include "runtime/choose/time_model.hpp"

namespace tilesmith::runtime {

struct RankedConfig {
  const Config* config;
  Prediction prediction;
  bool stored;             ///< nothing has to be compiled for it
  const Problem* sister = nullptr;  ///< of whose configs it was the fastest (runtime/choose/sisters.hpp)

  /// What configs are ranked by: as if it took longer where its kernel has to be compiled first.
  double rank_us() const;
};

/// Of a sister first; then by what families estimate, shortest first; then what none estimates.
bool comes_first(const RankedConfig& a, const RankedConfig& b);

/// One line: from what its time was predicted.
std::string why(const RankedConfig& one);

}  // namespace tilesmith::runtime
