// The subcommands of `tilesmith`. Each has one function `add_NAME`, declared here and defined in NAME.cpp (short ones
// share lists.cpp, `merge` is in import.cpp, `capture` and `run` in under_shim.cpp). It adds the options to the program
// and returns what to run once they are parsed; program.cpp lists them all.
//
// Conventions every command keeps:
//   - options are stored as text or numbers while parsing and checked in `run`, before anything is opened for writing;
//   - results go to stdout (a table, or what --format asks for), everything else goes to stderr through spdlog;
//   - errors are thrown: UsageError for what the user gave, and those of the libraries; program.cpp (run_guarded) turns
//     each into one line on stderr and an exit status (kExitUsage for bad input or a missing device, kExitInternal for
//     the rest);
//   - kExitSetAside: done, but for problems that `tune` set aside, which it names.
#pragma once

#include <functional>
#include <vector>

#include "tuner/exit_status.hpp"

namespace CLI {
class App;
}

namespace tilesmith::tuner {

/// Returns the exit status. Holds its options alive.
using Run = std::function<int()>;

struct Command {
  CLI::App* app = nullptr;
  Run run;
};

using AddCommand = Command(CLI::App& program);
AddCommand add_tune, add_compile, add_verify, add_bench, add_query, add_explain, add_report, add_compare, add_export,
    add_import, add_merge, add_capture, add_run, add_renew, add_devices, add_space, add_strategies, add_simulate,
    add_workloads, add_version, add_completion, add_manual;

/// Adds every command, in the order in which `tilesmith --help` lists them.
std::vector<Command> add_commands(CLI::App& program);

/// The program: parses, runs the command, and turns every error into one line and an exit status. Never throws. Exit
/// statuses: 0 done; 1 a defect of Tilesmith; 2 bad input, a missing device or library, a bad file; 3 done but for
/// problems that `tune` set aside; 128 + signal if it was told to end.
int run_program(int argc, const char* const* argv);

}  // namespace tilesmith::tuner
