#include "tuner/cli/commands/command.hpp"

namespace tilesmith::tuner {

std::vector<Command> add_commands(CLI::App& program) {
  return {
      add_tune(program),    add_compile(program),   add_verify(program),     add_bench(program), add_query(program),
      add_explain(program), add_report(program),    add_compare(program),   add_export(program),     add_import(program), add_merge(program),
      add_capture(program), add_run(program),       add_renew(program),   add_devices(program),   add_space(program),      add_workloads(program), add_strategies(program),
      add_simulate(program), add_version(program),   add_completion(program), add_manual(program),
  };
}

}  // namespace tilesmith::tuner
