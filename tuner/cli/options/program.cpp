#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

#include "db/store/store.hpp"
#include "kernels/families/user/template_text.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/interface/gemm.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/command_line.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/logging.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/evaluator.hpp"
#include "tuner/workers/spawn.hpp"

namespace tilesmith::tuner {
namespace {

/// One line, whatever the message was made of.
void complain(const std::string& context, std::string message) {
  message.erase(message.find_last_not_of(" \n") + 1);
  for (std::size_t at = 0; (at = message.find('\n', at)) != std::string::npos;) message.replace(at, 1, "; ");
  Screen::instance().clear_status();
  Screen::instance().print_line(fmt::format("{}: {}", context, message));
}

/// CLI11's own message for an unknown command names no place; this one does. Empty: nothing to complain of.
std::string unknown_command(const CLI::App& program, const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.app->get_name());
  if (command_arguments().empty()) return fmt::format("no command given: expected one of {}", fmt::join(names, ", "));
  const std::string& first = command_arguments().front();
  if (first.starts_with('-')) {
    const std::string name = first.substr(0, first.find('='));
    if (name == "--" || program.get_option_no_throw(name) != nullptr) return "";
    return fmt::format(
        "unknown option {}: expected --help, --version, or first a command, one of {}", name, fmt::join(names, ", "));
  }
  if (std::ranges::find(names, first) != names.end()) return "";
  return fmt::format("unknown command '{}': expected one of {}", first, fmt::join(names, ", "));
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
  if (error.get_exit_code() == 0)
    return with_output_checked(context, program.exit(error));  // --help, --version: to stdout
  const auto used = program.get_subcommands();
  const std::string wrong = parse_error_text(used.empty() ? program : *used.front(), error);
  complain(context, fmt::format("{} (see `{} --help`)", wrong, context));
  return kExitUsage;
}

/// Whether it takes --family-dir: families mean nothing to the others.
bool knows_families(const Command& command) {
  constexpr std::string_view kOthers[] = {"devices", "strategies", "workloads", "version", "completion", "manual"};
  return std::ranges::find(kOthers, command.app->get_name()) == std::end(kOthers);
}

template <typename... Errors>
bool is_one_of(const std::exception& error) {
  return (... || (dynamic_cast<const Errors*>(&error) != nullptr));
}

/// Every kind of error that the libraries throw, in one place. What a system call reports is the machine's, not the
/// program's.
int run_guarded(const Command& command, const std::vector<std::string>& family_dirs) {
  const std::string context = "tilesmith " + command.app->get_name();
  const auto fail = [&](const std::string& message, int status) {
    complain(context, message);
    return status;
  };
  try {
    own_program();  // what is wrong with it is said before anything is done
    if (knows_families(command)) load_families(family_dirs);
    return command.run();
  } catch (const Error& error) {  // the runtime library's: what it was given, or the machine, unless it says otherwise
    return fail(error.what(), error.code() == ErrorCode::internal ? kExitInternal : kExitUsage);
  } catch (const EvaluatorError& error) {
    return fail(error.what(), kExitInternal);
  } catch (const std::bad_alloc&) {
    return fail("out of memory", kExitInternal);
  } catch (const std::exception& error) {
    std::error_code gone;
    const std::filesystem::path here = std::filesystem::current_path(gone);
    const bool system = is_one_of<std::system_error>(error);
    if (system && gone)
      return fail(fmt::format("the working folder: {}; expected one that exists", gone.message()), kExitUsage);
    if (system ||
        is_one_of<UsageError, OwnProgramError, DefinitionError, WorkloadError, db::StoreError, runtime::DeviceError>(
            error))
      return fail(error.what(), kExitUsage);
    return fail(std::string("internal error: ") + error.what(), kExitInternal);
  }
}

}  // namespace

std::vector<Command> add_commands(CLI::App& program) {
  std::vector<Command> commands;
  for (AddCommand* const add : {add_tune, add_compile, add_verify, add_bench, add_query, add_explain, add_report,
           add_compare, add_export, add_import, add_merge, add_capture, add_run, add_renew, add_devices, add_space,
           add_workloads, add_strategies, add_simulate, add_version, add_completion, add_manual})
    commands.push_back(add(program));
  return commands;
}

int run_program(int argc, const char* const* argv) {
  try {
    command_arguments() = {argv + (argc > 0 ? 1 : 0), argv + argc};
    start_console_log();
    CLI::App program{"Finds, proves and keeps the fastest GEMM kernel for a GPU", "tilesmith"};
    program.formatter(help_formatter());
    program.set_version_flag("--version", std::string("tilesmith ") + version());
    program.require_subcommand(1);
    program.footer(
        "`tilesmith COMMAND --help` explains a command. Exit status: 0 done, 1 internal error, 2 bad input, no GPU or "
        "no kernel that compiles, 3 done but for\nproblems that `tune` set aside.");
    const std::vector<Command> commands = add_commands(program);
    std::vector<std::string> family_dirs;
    for (const Command& command : commands) {
      if (knows_families(command)) add_family_dir_option(*command.app, family_dirs);
      refuse_empty_values(*command.app);
    }
    if (const std::string unknown = unknown_command(program, commands); !unknown.empty()) {
      complain("tilesmith", unknown + " (see `tilesmith --help`)");
      return kExitUsage;
    }
    try {
      program.parse(words_to_parse(command_arguments()));
    } catch (const CLI::ParseError& error) {
      return report_parse_error(program, error);
    }
    const auto asked = std::ranges::find_if(commands, [](const Command& one) { return one.app->parsed(); });
    return with_output_checked(context_of(program), run_guarded(*asked, family_dirs));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tilesmith: internal error: %s\n", error.what());
  }
  return kExitInternal;
}

}  // namespace tilesmith::tuner
