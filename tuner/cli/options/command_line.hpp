// The command line as the user gave it, for the record of a tuning run and for the processes that share in it.
#pragma once

#include <string>
#include <vector>

namespace CLI { class App; }

namespace tilesmith::tuner {

void set_command_line(int argc, const char* const* argv);
/// Words joined by spaces; "" before set_command_line().
const std::string& command_line();
/// The same words, less the program's name.
const std::vector<std::string>& command_arguments();

/// The words after the program's name for CLI::App::parse(), last first. "--budget=" becomes "--budget" and an empty word: CLI11
/// would take the next word for its value.
std::vector<std::string> words_to_parse(int argc, const char* const* argv);

/// An empty value of an option of this command, whichever it is, is refused while the line is parsed.
void refuse_empty_values(CLI::App& command);

}  // namespace tilesmith::tuner
