// The program's commands and options as tables, from which completions for shells and manual pages are made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace tilesmith::tuner {

struct OptionTable {
  std::vector<std::string> names;  ///< with their dashes, short ones first; of a positional its name alone
  bool is_positional = false, is_required = false, is_repeatable = false;
  std::string value;  ///< what stands for it in help, as "FILE"; empty: a flag
  std::string description;
  std::string group;  ///< the heading that it is listed under
  bool takes_file = false;
  std::vector<std::string> words;  ///< values that are known, such as type pairs; empty where any may come
};

struct CommandTable {
  std::string name;
  std::string summary;
  std::vector<OptionTable> options;
  std::string footer;  ///< what `--help` ends with; lines that are indented are to be kept as they are
};

/// The commands in the order of `--help`; those of the program itself are first, with its name.
std::vector<CommandTable> option_tables(const CLI::App& program);

/// The script for bash, zsh or fish. Throws UsageError for another shell.
std::string completion(std::string_view shell, const std::vector<CommandTable>& commands);

/// The manual page (man(7)) of one command; of the program for its own name. Throws UsageError where there is none.
std::string manual_page(const std::string& name, const std::vector<CommandTable>& commands);

}  // namespace tilesmith::tuner
