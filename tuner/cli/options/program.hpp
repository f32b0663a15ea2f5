// The command line as a whole: parses, runs the command, and turns every error into one line and an exit status.
#pragma once

namespace tilesmith::tuner {

/// Never throws. Exit statuses: 0 done; 1 a defect of Tilesmith; 2 bad input, a missing device or library, a bad file;
/// 3 done but for problems that `tune` set aside; 128 + signal if it was told to end.
int run_program(int argc, const char* const* argv);

}  // namespace tilesmith::tuner
