// The command line as the user gave it, for the record of a tuning run.
#pragma once

#include <string>

namespace tilesmith::tuner {

void set_command_line(int argc, const char* const* argv);
/// Words joined by spaces; "" before set_command_line().
const std::string& command_line();

}  // namespace tilesmith::tuner
