#include "tuner/cli/options/command_line.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <numeric>
#include <regex>
#include <string_view>
#include <utility>

#include "tuner/logs/words.hpp"

namespace tilesmith::tuner {
namespace {

/// How many letters must be put in, left out or changed.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

/// The option that fewest edits are from the given name, up to two or a third of its letters, or one that begins it or
/// is begun by it; empty: none is near.
std::string nearest_option(const CLI::App& app, std::string_view given) {
  if (given.size() < 3) return "";
  std::string nearest;
  const std::size_t most = std::max<std::size_t>(2, given.size() / 3);
  std::pair<std::size_t, std::size_t> fewest{most + 1, 0};  // edits, and how much longer one of both is
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // not for users
    for (const std::string& name : option->get_lnames()) {
      const std::size_t shorter = std::min(name.size(), given.size());
      const bool begins = name.compare(0, shorter, given.substr(0, shorter)) == 0;
      const std::size_t edits = edits_between(name, given);
      const std::pair far{begins ? std::min(edits, most) : edits, std::max(name.size(), given.size()) - shorter};
      if (far >= fewest) continue;
      fewest = far;
      nearest = "--" + name;
    }
  }
  return nearest;
}

/// What looks like an option: "-1" is a number, "-" a file.
bool is_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9') && word != "--";
}

constexpr std::size_t kNameColumns = 30;
constexpr std::size_t kPageColumns = 110;

/// Breaks text between words so that no line is longer than `width`, unless a word is.
std::string wrapped(const std::string& text, std::size_t width) {
  std::string result;
  std::size_t line = 0;
  for (const std::string_view word : split_at(text, ' ')) {
    const bool fits = line + 1 + word.size() <= width;
    if (line > 0) result += fits ? ' ' : '\n';
    line = (line > 0 && fits ? line + 1 : 0) + word.size();
    result += word;
  }
  return result;
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kNameColumns); }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(CLI::Formatter::make_option_desc(option), kPageColumns - kNameColumns);
  }
};

}  // namespace

std::vector<std::string>& command_arguments() {
  static std::vector<std::string> arguments;
  return arguments;
}

std::vector<std::string> words_to_parse(const std::vector<std::string>& arguments) {
  std::vector<std::string> words(arguments.rbegin(), arguments.rend());
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--") || words[i].size() <= 3 || words[i].find('=') != words[i].size() - 1) continue;
    words[i].pop_back();
    words.emplace(words.begin() + std::ptrdiff_t(i++));
  }
  return words;
}

void refuse_empty_values(CLI::App& command) {
  for (CLI::Option* option : command.get_options([](CLI::Option* one) { return one->get_items_expected_max() > 0; })) {
    const std::string expected = option->get_type_name().empty() ? "a value" : option->get_type_name();
    const auto refused = [expected](const std::string& value) {
      return value.empty() ? fmt::format("is empty; expected {}", expected) : std::string();
    };
    option->transform(CLI::Validator(refused, ""));  // before the option's own checks, and before it becomes a number
  }
}

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  const auto option = std::find_if(unknown.begin(), unknown.end(), is_option);
  if (option != unknown.end()) {
    const std::string name = option->substr(0, option->find('='));
    const std::size_t letters = std::min(name.find_first_not_of('-'), name.size());  // "---" has none
    const std::string nearest = nearest_option(app, std::string_view(name).substr(letters));
    return fmt::format("unknown option {}{}", name, nearest.empty() ? "" : fmt::format("; the nearest is {}", nearest));
  }
  const std::string said = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !unknown.empty()) {
    return fmt::format("'{}': expected an option here", unknown.front());
  }
  static const std::regex kRange("(?:([^:]+): )?Value (.*) not in range (\\S+) to (\\S+)");
  std::smatch match;
  if (!std::regex_match(said, match, kRange)) return said;
  return fmt::format("{}'{}': expected a number from {} to {}", match[1].matched ? match[1].str() + " " : "",
      match[2].str(), match[3].str(), match[4].str());
}

}  // namespace tilesmith::tuner
