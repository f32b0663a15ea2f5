// Answers candidates from a recorded landscape: the same tune loop without a device.
#pragma once

#include "db/landscape.hpp"
#include "tuner/evaluator.hpp"

namespace tilesmith::tuner {

std::unique_ptr<Evaluator> make_replay_evaluator(db::Landscape landscape);

}  // namespace tilesmith::tuner
