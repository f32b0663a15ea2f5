// The command line as the user gave it, for the record of a tuning run and for the processes that share in it.
#pragma once

#include <string>
#include <vector>

namespace tilesmith::tuner {

void set_command_line(int argc, const char* const* argv);
/// Words joined by spaces; "" before set_command_line().
const std::string& command_line();
/// The same words, less the program's name.
const std::vector<std::string>& command_arguments();

}  // namespace tilesmith::tuner
