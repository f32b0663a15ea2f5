// The vendor's library as a candidate: what is asked of an evaluator, and what it answers.
#pragma once

#include <string>

#include "db/store/vendor_times.hpp"

namespace tilesmith::tuner {

/// What to ask for beside finalists.
struct VendorAsk {
  double seconds =
      0;  ///< how long the search among the algorithms that it offers may take; a few are timed in any case
};

struct VendorAnswer {
  /// Why the library cannot be used here, whatever the problem; empty: it can.
  std::string unavailable;
  /// Without driver, policy, run and what was beside it, which are the tuner's to know. Of no meaning where the library
  /// is unavailable.
  db::VendorTimes times;
  /// The machine failed, as one without memory: it is no word on the problem, and nobody's to store.
  bool by_machine = false;
};

}  // namespace tilesmith::tuner
