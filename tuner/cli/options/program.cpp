#include "tuner/cli/options/program.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "db/store/store.hpp"
#include "kernels/families/user/family_error.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/interface/gemm.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/command_line.hpp"
#include "tuner/cli/options/help.hpp"
#include "tuner/cli/output/logging.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/options/parse_error.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/evaluator.hpp"
#include "tuner/workers/spawn.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {
namespace {

/// One line, whatever the message was made of.
void complain(const std::string& context, std::string message) {
  while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) message.pop_back();
  for (std::size_t at = message.find('\n'); at != std::string::npos; at = message.find('\n', at)) message.replace(at, 1, "; ");
  Screen::instance().clear_status();
  Screen::instance().print_line(fmt::format("{}: {}", context, message));
}

std::string names_of(const std::vector<Command>& commands) {
  std::string names;
  for (const Command& command : commands) names += (names.empty() ? "" : ", ") + command.app->get_name();
  return names;
}

/// CLI11's own message for an unknown command names no place; this one does. Empty: nothing to complain of.
std::string unknown_command(const CLI::App& program, int argc, const char* const* argv, const std::vector<Command>& commands) {
  if (argc < 2) return fmt::format("no command given: expected one of {}", names_of(commands));
  const std::string first = argv[1];
  if (!first.empty() && first.front() == '-') {
    const std::string name = first.substr(0, first.find('='));
    if (name == "--" || program.get_option_no_throw(name) != nullptr) return "";
    return fmt::format("unknown option {}: expected --help, --version, or first a command, one of {}", name, names_of(commands));
  }
  const auto is_first = [&](const Command& command) { return command.app->get_name() == first; };
  if (std::any_of(commands.begin(), commands.end(), is_first)) return "";
  return fmt::format("unknown command '{}': expected one of {}", first, names_of(commands));
}

std::string context_of(const CLI::App& program) {
  const auto used = program.get_subcommands();
  return used.empty() ? "tilesmith" : "tilesmith " + used.front()->get_name();
}

/// Whatever was printed must have been written, or the exit status says that it was not.
int with_output_checked(const std::string& context, int status) {
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || status != kExitOk) return status;
  complain(context, "stdout: cannot be written");
  return kExitUsage;
}

int report_parse_error(const CLI::App& program, const CLI::ParseError& error) {
  const std::string context = context_of(program);
  if (error.get_exit_code() == 0) return with_output_checked(context, program.exit(error));  // --help, --version: to stdout
  const auto used = program.get_subcommands();
  complain(context, fmt::format("{} (see `{} --help`)", parse_error_text(used.empty() ? program : *used.front(), error), context));
  return kExitUsage;
}

/// Whether it takes --family-dir: families mean nothing to the others.
bool knows_families(const Command& command) {
  constexpr std::string_view kOthers[] = {"devices", "strategies", "workloads", "version", "completion", "manual"};
  return std::find(std::begin(kOthers), std::end(kOthers), command.app->get_name()) == std::end(kOthers);
}

template <typename... Errors>
bool is_one_of(const std::exception& error) {
  return (... || (dynamic_cast<const Errors*>(&error) != nullptr));
}

/// Every kind of error that the libraries throw, in one place. What a system call reports is the machine's, not the program's.
int run_guarded(const Command& command, const std::vector<std::string>& family_dirs) {
  const std::string context = "tilesmith " + command.app->get_name();
  try {
    own_program();  // what is wrong with it is said before anything is done
    if (knows_families(command)) load_families(family_dirs);
    return command.run();
  } catch (const Error& error) {  // the runtime library's: what it was given, or the machine, unless it says otherwise
    complain(context, error.what());
    return error.code() == ErrorCode::internal ? kExitInternal : kExitUsage;
  } catch (const EvaluatorError& error) {
    complain(context, error.what());
    return kExitInternal;
  } catch (const std::bad_alloc&) {
    complain(context, "out of memory");
    return kExitInternal;
  } catch (const std::exception& error) {
    std::error_code gone;
    const std::filesystem::path here = std::filesystem::current_path(gone);
    const bool usage = is_one_of<UsageError, OwnProgramError, FamilyError, WorkloadError, db::StoreError, runtime::DeviceError>(error);
    const bool system = is_one_of<std::system_error>(error);
    if (system && gone) complain(context, fmt::format("the working folder: {}; expected one that exists", gone.message()));
    else complain(context, (usage || system ? "" : "internal error: ") + std::string(error.what()));
    return usage || system ? kExitUsage : kExitInternal;
  }
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  try {
    set_command_line(argc, argv);
    start_console_log();
    CLI::App program{"Finds, proves and keeps the fastest GEMM kernel for a GPU", "tilesmith"};
    program.formatter(help_formatter());
    program.set_version_flag("--version", std::string("tilesmith ") + version());
    program.require_subcommand(1);
    program.footer("`tilesmith COMMAND --help` explains a command. Exit status: 0 done, 1 internal error, 2 bad input, no GPU or no kernel that compiles, 3 done but for\nproblems that `tune` set aside.");
    const std::vector<Command> commands = add_commands(program);
    std::vector<std::string> family_dirs;
    for (const Command& command : commands) {
      if (knows_families(command)) add_family_dir_option(*command.app, family_dirs);
      refuse_empty_values(*command.app);
    }
    const std::string unknown = unknown_command(program, argc, argv, commands);
    if (!unknown.empty()) {
      complain("tilesmith", unknown + " (see `tilesmith --help`)");
      return kExitUsage;
    }
    try {
      program.parse(words_to_parse(argc, argv));
    } catch (const CLI::ParseError& error) {
      return report_parse_error(program, error);
    }
    for (const Command& command : commands) {
      if (command.app->parsed()) return with_output_checked("tilesmith " + command.app->get_name(), run_guarded(command, family_dirs));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tilesmith: internal error: %s\n", error.what());
  }
  return kExitInternal;
}

}  // namespace tilesmith::tuner
