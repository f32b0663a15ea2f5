// How `--help` is laid out.
#pragma once

#include <memory>
#include <string>

namespace CLI { class FormatterBase; }

namespace tilesmith::tuner {

/// Breaks text between words so that no line is longer than `width`, unless a word is.
std::string wrapped(const std::string& text, std::size_t width);

/// CLI11's layout, with descriptions broken to the width of a page.
std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace tilesmith::tuner
