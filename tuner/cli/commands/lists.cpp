// tilesmith strategies, workloads, version: what this build has.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

#include "runtime/compile/compiler.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/interface/gemm.hpp"
#include "tuner/cli/commands/command.hpp"
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
  TextTable table({{"strategy"}, {"what it does"}});
  for (const StrategyInfo& info : strategies()) table.add({std::string(info.name), std::string(info.summary)});
  write_result(table.text(stdout_width()));
  return kExitOk;
}

int run_workloads(const std::string& name) {
  if (name.empty()) {
    TextTable table({{"workload"}, {"problems", TextTable::Align::right}, {"what it is"}});
    for (const BuiltInWorkload& one : built_in_workloads()) {
      table.add({std::string(one.name), std::to_string(built_in_workload(one.name).problems.size()), std::string(one.summary)});
    }
    write_result(table.text(stdout_width()));
    return kExitOk;
  }
  std::string lines;
  for (const WeightedProblem& one : built_in_workload(name).problems) {
    lines += text(one.problem) + (one.weight == 1 ? "" : fmt::format(" {:g}", one.weight)) + '\n';
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
  CLI::App* app = program.add_subcommand("workloads", "The built-in workloads, or the problems of one");
  const auto name = std::make_shared<std::string>();
  app->add_option("NAME", *name, "Print this workload's problems, in the form that --workload reads")->type_name("");
  app->footer("Example:\n  tilesmith workloads quick > mine.txt");
  return {app, [name] { return run_workloads(*name); }};
}

Command add_version(CLI::App& program) {
  return {program.add_subcommand("version", "Versions of this build, of NVRTC and of the driver"), run_version};
}

}  // namespace tilesmith::tuner
