// tilesmith strategies, workloads, version, completion, manual: what this build has, and what shells and `man` know.
#include <fmt/format.h>

#include "runtime/compile/compiler.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/interface/gemm.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/option_tables.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/measure/stopwatch.hpp"
#include "tuner/search/strategy.hpp"
#include "tuner/verify/verifier.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {
namespace {

int run_strategies() {
  TextTable table({"strategy", "what it does"});
  for (const StrategyInfo& info : strategies()) table.add({std::string(info.name), std::string(info.summary)});
  write_result(table.text(stdout_width()));
  return kExitOk;
}

int run_workloads(const std::string& name) {
  if (name.empty()) {
    TextTable table({"workload", ">problems", "what it is"});
    for (const BuiltInWorkload& one : built_in_workloads()) {
      table.add(
          {std::string(one.name), std::to_string(built_in_workload(one.name).tasks.size()), std::string(one.summary)});
    }
    write_result(table.text(stdout_width()));
    return kExitOk;
  }
  std::string lines;
  for (const WeightedTask& one : built_in_workload(name).tasks) {
    lines += text(one.task) + (one.weight == 1 ? "" : fmt::format(" {:g}", one.weight)) + '\n';
  }
  write_result(lines);
  return kExitOk;
}

int run_version() {
  std::string out = fmt::format("tilesmith {}\n", version());
  const std::string no_nvrtc = runtime::nvrtc_unavailable_because();
  out += fmt::format("NVRTC: {}\n", no_nvrtc.empty() ? runtime::nvrtc_version() : no_nvrtc);
  const std::string no_device = runtime::device_unavailable_because();
  const auto devices = runtime::list_devices();
  out += fmt::format("driver: {}\n", devices.empty() ? no_device : devices.front().driver_version);
  out += fmt::format("measuring policy: {}; suite: {}\n", kMeasuringPolicy, kSuiteVersion);
  write_result(out);
  return kExitOk;
}

}  // namespace

Command add_strategies(CLI::App& program) {
  return {program.add_subcommand("strategies", "The search strategies of `tune`"), run_strategies};
}

Command add_workloads(CLI::App& program) {
  const auto [app, name, add] =
      new_command<std::string>(program, "workloads", "The built-in workloads, or the problems of one");
  add("NAME", *name, "", "Print this workload's problems, in the form that --workload reads");
  app->footer("Example:\n  tilesmith workloads quick > mine.txt");
  return {app, [name = name] { return run_workloads(*name); }};
}

Command add_version(CLI::App& program) {
  return {program.add_subcommand("version", "Versions of this build, of NVRTC and of the driver"), run_version};
}

Command add_completion(CLI::App& program) {
  const auto [app, shell, add] = new_command<std::string>(
      program, "completion", "Print the script that completes this program's words in a shell");
  add("SHELL", *shell, "", "bash, zsh or fish")->required();
  app->footer(
      "Packages install it. Else:\n"
      "  tilesmith completion bash > ~/.local/share/bash-completion/completions/tilesmith\n"
      "  tilesmith completion zsh > ~/.zfunc/_tilesmith     # with fpath+=~/.zfunc\n"
      "  tilesmith completion fish > ~/.config/fish/completions/tilesmith.fish");
  return {app, [shell = shell, &program] {
            write_result(completion(*shell, option_tables(program)));
            return kExitOk;
          }};
}

Command add_manual(CLI::App& program) {
  const auto [app, command, add] = new_command<std::string>(program, "manual", "Print a manual page, for `man`");
  add("COMMAND", *command, "", "The page of this command; else the program's own");
  app->footer("Packages install the pages. Example:\n  tilesmith manual tune | man -l -");
  return {app, [command = command, &program] {
            write_result(manual_page(command->empty() ? "tilesmith" : *command, option_tables(program)));
            return kExitOk;
          }};
}

}  // namespace tilesmith::tuner
