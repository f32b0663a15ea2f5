#include "tuner/cli/options/help.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kNameColumns = 30;
constexpr std::size_t kPageColumns = 110;

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kNameColumns); }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(CLI::Formatter::make_option_desc(option), kPageColumns - kNameColumns);
  }
};

}  // namespace

std::string wrapped(const std::string& text, std::size_t width) {
  std::string result;
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t word = end - at;
    if (line > 0 && line + 1 + word > width) {
      result += '\n';
      line = 0;
    } else if (line > 0) {
      result += ' ';
      ++line;
    }
    result.append(text, at, word);
    line += word;
    at = end + 1;
  }
  return result;
}

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

}  // namespace tilesmith::tuner
