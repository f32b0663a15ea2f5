// --retired: whether a command also shows recorded times that do not count.
#pragma once

#include "tuner/bests/bests_today.hpp"

namespace CLI { class App; class Option; }

namespace tilesmith::tuner {

/// The option --retired.
CLI::Option* add_retired_option(CLI::App& app, bool& retired);
/// One line on stderr about what was left out without it, if anything was.
void say_left_out(const BestsToday& today);

}  // namespace tilesmith::tuner
