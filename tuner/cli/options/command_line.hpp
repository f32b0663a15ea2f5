// The command line as the user gave it, how it is read, and what is said of it: errors and --help.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class FormatterBase;
class ParseError;
}  // namespace CLI

namespace tilesmith::tuner {

/// The words after the program's name, for the record of a tuning run and for the processes that share in it.
std::vector<std::string>& command_arguments();

/// The same for CLI::App::parse(), last first. "--budget=" becomes "--budget" and an empty word: CLI11 would take the
/// next word for its value.
std::vector<std::string> words_to_parse(const std::vector<std::string>& arguments);

/// An empty value of an option of this command, whichever it is, is refused while the line is parsed.
void refuse_empty_values(CLI::App& command);

/// What is wrong with a command line that CLI11 refused. Names the first option that the command does not know, and the
/// one of its own that comes nearest; else what CLI11 says, with the ranges of numbers in other words. `app`: the
/// command, or the program where none was named.
std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error);

/// CLI11's layout of --help, with descriptions broken to the width of a page.
std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace tilesmith::tuner
