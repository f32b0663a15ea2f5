// What is wrong with a command line that CLI11 refused, in words that name the place and what was expected.
#pragma once

#include <string>

namespace CLI { class App; class ParseError; }

namespace tilesmith::tuner {

/// Names the first option that the command does not know, and the one of its own that comes nearest; else what CLI11 says, with
/// the ranges of numbers in other words. `app`: the command, or the program where none was named.
std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tilesmith::tuner
