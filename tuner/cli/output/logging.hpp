// spdlog for the command line: to stderr, above the status block, and to a file if asked. Stdout stays for results.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tilesmith::tuner {

struct LogOptions {
  std::string file;      ///< appended to; empty: none
  bool verbose = false;  ///< debug level on the console (a file always has it)
};
void add_log_options(CLI::App& app, LogOptions& options);

/// Console at warning level and up, for commands that only print. main.cpp calls it before anything is parsed.
void start_console_log();
/// As the options say, console at info level. Throws UsageError naming --log if the file cannot be written. `writer`
/// marks the lines of one of several processes that log to the same file.
void apply_log_options(const LogOptions& options, const std::string& writer = {});

}  // namespace tilesmith::tuner
