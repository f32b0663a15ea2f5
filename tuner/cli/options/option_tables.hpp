// The program's commands and options as tables, from which completions and manual pages are made (completion.cpp, manual.cpp).
#pragma once

#include <string>
#include <vector>

namespace CLI { class App; }

namespace tilesmith::tuner {

struct OptionTable {
  std::vector<std::string> names;  ///< with their dashes, short ones first; of a positional its name alone
  bool is_positional = false;
  bool is_required = false;
  bool is_repeatable = false;
  std::string value;               ///< what stands for it in help, as "FILE"; empty: a flag
  std::string description;
  std::string group;               ///< the heading that it is listed under
  bool takes_file = false;
  std::vector<std::string> words;  ///< values that are known, such as type pairs; empty where any may come

  /// As in a synopsis: "--db FILE".
  std::string text() const;
};

struct CommandTable {
  std::string name;
  std::string summary;
  std::vector<OptionTable> options;
  std::string footer;  ///< what `--help` ends with; lines that are indented are to be kept as they are
};

/// The commands in the order of `--help`; those of the program itself are first, with its name.
std::vector<CommandTable> option_tables(const CLI::App& program);

}  // namespace tilesmith::tuner
