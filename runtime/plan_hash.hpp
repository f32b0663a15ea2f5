// What a plan runs, told apart from what it was made from.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "kernels/config.hpp"
#include "kernels/problem.hpp"

namespace tilesmith::runtime {

/// A hash of the launches that solve the problem with the config, and of the machine code of the kernels that they name: 32 hex
/// digits. Where it stays the same over a change of the kernels' templates, what was measured holds: it is the same that runs. (What
/// a plan makes of the launches on its device, plan.cpp, is this library's and no template's.)
/// Empty where that is not known: no cubin of the config (PTX, for another architecture's code), or the family refuses the problem.
/// The config has all of its family's parameters.
std::string plan_hash(const Config& config, const Problem& problem, std::span<const std::byte> cubin);

}  // namespace tilesmith::runtime
