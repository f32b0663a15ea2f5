// Answers candidates from a recorded landscape: the same tune loop without a device.
#pragma once

#include <memory>
#include <string>

#include "db/landscape.hpp"
#include "tuner/evaluator.hpp"

namespace tilesmith::tuner {

/// An evaluator whose outcomes were not measured here is one of these too: evidence of a replay must not claim to come
/// from the machine that replayed it.
class RecordedElsewhere {
 public:
  virtual ~RecordedElsewhere() = default;
  /// Provenance of the outcomes, as the store keeps it (db::Evidence::origin). Never empty.
  virtual std::string origin() const = 0;
};

/// Knows only what was recorded; its device, producers and outcomes are the recorded ones, in order of submission, at
/// once, and it is RecordedElsewhere. A play-off gives the recorded outcomes again. Throws std::runtime_error (one line)
/// if the landscape's architecture is not one of this build.
std::unique_ptr<Evaluator> make_replay_evaluator(db::Landscape landscape);

}  // namespace tilesmith::tuner
