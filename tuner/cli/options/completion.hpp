// Completions for shells, made from the program's own option tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tuner/cli/options/option_tables.hpp"

namespace tilesmith::tuner {

/// The script for bash, zsh or fish. Throws UsageError for another shell.
std::string completion(std::string_view shell, const std::vector<CommandTable>& commands);

}  // namespace tilesmith::tuner
