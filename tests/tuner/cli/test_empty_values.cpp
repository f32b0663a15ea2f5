// An empty value (a shell variable that was not set) is not the same as no option.
#include <CLI/CLI.hpp>

#include "tests/catch.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/command_line.hpp"
#include "tuner/cli/options/options.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

/// What the program says to these words; "" if they parse.
std::string parse_error(CLI::App& program, const std::vector<std::string>& words) {
  try {
    program.parse(tuner::words_to_parse(words));
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an empty value is refused of every option that needs one") {
  CLI::App program;
  const std::vector<tuner::Command> commands = tuner::add_commands(program);
  for (const tuner::Command& command : commands) {
    tuner::refuse_empty_values(*command.app);
    for (const CLI::Option* option : command.app->get_options()) {
      if (option->get_items_expected_min() == 0) continue;  // flags, and what need not have a value
      const std::string name = option->get_name();
      const bool positional = option->get_positional();
      INFO(command.app->get_name() << " " << name);
      const auto words = [&](std::vector<std::string> given) {
        given.insert(given.begin(), command.app->get_name());
        return given;
      };
      CHECK(contains(
          parse_error(program, words(positional ? std::vector<std::string>{""} : std::vector<std::string>{name, ""})),
          name + ": is empty; expected "));
      if (!positional) CHECK(contains(parse_error(program, words({name + "=", "--verbose"})), name + ": is empty"));
    }
  }
}

TEST_CASE("an empty value ends a command with one line and exit status 2") {
  const TempFolder folder;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"tune", "--budget", ""},
           {"tune", "--budget=", "--shape", "64"}, {"query", "--db", ""}, {"simulate", "--runs", ""},
           {"export", "--format", "json", "-o", ""}, {"import", ""}, {"tune", "--family", ",", "--dry-run"}}) {
    const Finished refused = run(folder, words);
    INFO(refused.err);
    CHECK(refused.status == 2);
    CHECK(refused.out.empty());
    CHECK(lines_of(refused.err) == 1);
  }
}

TEST_CASE("an empty TILESMITH_DB counts as not set") {
  const TempFolder folder;
  ::setenv("TILESMITH_DB", "", 1);
  ::setenv("XDG_DATA_HOME", folder.path().c_str(), 1);
  CHECK(tuner::database_path_for_writing("") == folder.path() / "tilesmith" / "tuned.db");
  CHECK(std::filesystem::is_directory(folder.path() / "tilesmith"));
  ::unsetenv("TILESMITH_DB");
  ::unsetenv("XDG_DATA_HOME");
}
