// Answers candidates from a recording: the same tune loop without a device.
#pragma once

#include <memory>
#include <optional>

#include "db/exchange/recording.hpp"
#include "tuner/evaluator.hpp"

namespace tilesmith::tuner {

/// An evaluator whose outcomes were not measured here and now is one of these too: records of a replay must not claim to be this
/// machine's, or today's, or of other kernels than it is of.
class RecordedElsewhere {
 public:
  virtual ~RecordedElsewhere() = default;
  /// What the outcome of such a candidate rests on, with the provenance that it was recorded with; nullopt: on nothing.
  virtual std::optional<db::Record> entry(const Problem& problem, const Config& config) const = 0;
};

/// Knows only what was recorded; its device, environments and outcomes are the recorded ones, in order of submission, at
/// once, and it is RecordedElsewhere. A final benchmark gives the recorded outcomes again. Throws std::runtime_error (one line)
/// if the recording's architecture is not one of this build.
std::unique_ptr<Evaluator> make_replay_evaluator(db::Recording recording);

}  // namespace tilesmith::tuner
