#include "tuner/cli/options/command_line.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <utility>

namespace tilesmith::tuner {
namespace {

struct Stored {
  std::string line;
  std::vector<std::string> arguments;
};

Stored& stored() {
  static Stored words;
  return words;
}

}  // namespace

void set_command_line(int argc, const char* const* argv) {
  stored() = {"tilesmith", {argv + (argc > 0 ? 1 : 0), argv + argc}};
  for (const std::string& word : stored().arguments) stored().line += " " + word;
}

std::vector<std::string> words_to_parse(int argc, const char* const* argv) {
  std::vector<std::string> words;
  for (int i = argc - 1; i > 0; --i) {
    std::string word = argv[i];
    const bool names_no_value = word.starts_with("--") && word.size() > 3 && word.find('=') == word.size() - 1;
    if (names_no_value) {
      words.emplace_back();
      word.pop_back();
    }
    words.push_back(std::move(word));
  }
  return words;
}

void refuse_empty_values(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // a flag
    const std::string expected = option->get_type_name().empty() ? "a value" : option->get_type_name();
    const auto refused = [expected](const std::string& value) {
      return value.empty() ? fmt::format("is empty; expected {}", expected) : std::string();
    };
    option->transform(CLI::Validator(refused, ""));  // before the option's own checks, and before it becomes a number
  }
}

const std::string& command_line() { return stored().line; }

const std::vector<std::string>& command_arguments() { return stored().arguments; }

}  // namespace tilesmith::tuner
