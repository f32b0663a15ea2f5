// How `--help` is laid out.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace tilesmith::tuner {

/// Breaks text between words so that no line is longer than `width`, unless a word is.
std::string wrapped(const std::string& text, std::size_t width);

/// CLI11's layout, with descriptions broken to the width of a page.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace tilesmith::tuner
