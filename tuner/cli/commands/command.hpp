// The subcommands of `tilesmith`. Each has one function `add_NAME`, declared here and defined in NAME.cpp (short ones share lists.cpp,
// `merge` is in import.cpp, `completion` and `manual` in about_itself.cpp, `capture` and `run` in under_shim.cpp). It adds the options to the program and returns what to run once they are parsed; commands.cpp lists them all.
//
// Conventions every command keeps:
//   - options are stored as text or numbers while parsing and checked in `run`, before anything is opened for writing;
//   - results go to stdout (a table, or what --format asks for), everything else goes to stderr through spdlog;
//   - errors are thrown: UsageError for what the user gave, and those of the libraries; program.cpp (run_guarded) turns each into
//     one line on stderr and an exit status (kExitUsage for bad input or a missing device, kExitInternal for the rest);
//   - kExitSetAside: done, but for problems that `tune` set aside, which it names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/exit_status.hpp"

namespace CLI { class App; }

namespace tilesmith::tuner {

/// Returns the exit status. Holds its options alive.
using Run = std::function<int()>;

struct Command {
  CLI::App* app = nullptr;
  Run run;
};

Command add_tune(CLI::App& program);
Command add_compile(CLI::App& program);
Command add_verify(CLI::App& program);
Command add_bench(CLI::App& program);
Command add_query(CLI::App& program);
Command add_explain(CLI::App& program);
Command add_report(CLI::App& program);
Command add_compare(CLI::App& program);
Command add_export(CLI::App& program);
Command add_import(CLI::App& program);
Command add_merge(CLI::App& program);
Command add_capture(CLI::App& program);
Command add_run(CLI::App& program);
Command add_renew(CLI::App& program);
Command add_devices(CLI::App& program);
Command add_space(CLI::App& program);
Command add_strategies(CLI::App& program);
Command add_simulate(CLI::App& program);
Command add_workloads(CLI::App& program);
Command add_version(CLI::App& program);
Command add_completion(CLI::App& program);
Command add_manual(CLI::App& program);

/// Adds every command, in the order in which `tilesmith --help` lists them.
std::vector<Command> add_commands(CLI::App& program);

}  // namespace tilesmith::tuner
