// Answers candidates from a recording: the same tune loop without a device.
#pragma once

#include <memory>

#include "db/exchange/recording.hpp"
#include "tuner/evaluator.hpp"

namespace tilesmith::tuner {

/// Knows only what was recorded; its device, environments and outcomes are the recorded ones, in order of submission,
/// at once; is_replay(). A final benchmark gives the recorded outcomes again. Throws std::runtime_error (one line) if
/// the recording's architecture is not one of this build.
std::unique_ptr<Evaluator> make_replay_evaluator(db::Recording recording);

}  // namespace tilesmith::tuner
