// tilesmith completion, manual: what shells and `man` know of the program, from its own options.
#include <CLI/CLI.hpp>

#include <memory>
#include <string>

#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/completion.hpp"
#include "tuner/cli/options/manual.hpp"
#include "tuner/cli/options/option_tables.hpp"
#include "tuner/cli/output/output.hpp"

namespace tilesmith::tuner {

Command add_completion(CLI::App& program) {
  CLI::App* app = program.add_subcommand("completion", "Print the script that completes this program's words in a shell");
  const auto shell = std::make_shared<std::string>();
  app->add_option("SHELL", *shell, "bash, zsh or fish")->required()->type_name("");
  app->footer("Packages install it. Else:\n  tilesmith completion bash > ~/.local/share/bash-completion/completions/tilesmith\n"
              "  tilesmith completion zsh > ~/.zfunc/_tilesmith     # with fpath+=~/.zfunc\n"
              "  tilesmith completion fish > ~/.config/fish/completions/tilesmith.fish");
  return {app, [shell, &program] {
            write_result(completion(*shell, option_tables(program)));
            return kExitOk;
          }};
}

Command add_manual(CLI::App& program) {
  CLI::App* app = program.add_subcommand("manual", "Print a manual page, for `man`");
  const auto command = std::make_shared<std::string>("tilesmith");
  app->add_option("COMMAND", *command, "The page of this command; else the program's own")->type_name("");
  app->footer("Packages install the pages. Example:\n  tilesmith manual tune | man -l -");
  return {app, [command, &program] {
            write_result(manual_page(*command, option_tables(program)));
            return kExitOk;
          }};
}

}  // namespace tilesmith::tuner
