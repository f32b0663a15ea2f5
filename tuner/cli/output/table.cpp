#include "tuner/cli/output/table.hpp"

#include <algorithm>

namespace tilesmith::tuner {
namespace {

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

}  // namespace

std::size_t display_width(std::string_view text) {
  return std::size_t(std::count_if(text.begin(), text.end(), starts_code_point));
}

std::string cut_to_width(const std::string& text, std::size_t width) {
  if (width == 0 || display_width(text) <= width) return text;
  std::size_t columns = 0, at = 0;
  for (; at < text.size(); ++at) {
    if (starts_code_point(text[at]) && ++columns == width) break;
  }
  return text.substr(0, at) + "…";
}

void TextTable::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> result;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = display_width(columns_[c].title);
    for (const auto& row : rows_) widest = std::max(widest, display_width(row[c]));
    result.push_back(widest);
  }
  return result;
}

std::size_t TextTable::width() const {
  std::size_t sum = 0;
  for (const std::size_t one : widths()) sum += one + 2;
  return sum > 2 ? sum - 2 : 0;
}

/// Uncut.
std::vector<std::string> TextTable::lines(std::size_t cut_width) const {
  const std::vector<std::size_t> widest = widths();
  const bool hangs = cut_width > 0 && hang_from_ < columns_.size() && width() > cut_width;
  const std::size_t end = hangs ? hang_from_ : columns_.size();
  std::vector<std::string> result;
  const auto add_row = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t c = 0; c < end; ++c) {
      const std::string& cell = cell_of(c);
      const std::string padding(widest[c] - display_width(cell), ' ');
      if (c > 0) line += "  ";
      line += columns_[c].align == Align::right ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result.push_back(std::move(line));
    for (std::size_t c = end; c < columns_.size(); ++c) {
      if (!cell_of(c).empty()) result.push_back("    " + cell_of(c));
    }
  };
  add_row([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (const auto& row : rows_) add_row([&](std::size_t c) -> const std::string& { return row[c]; });
  return result;
}

std::string TextTable::text(std::size_t cut_width) const {
  std::string result;
  for (const std::string& line : lines(cut_width)) result += cut_to_width(line, cut_width) + "\n";
  return result;
}

std::string TextTable::text(std::size_t cut_width, std::string_view whole_by) const {
  if (cut_width == 0) return text();
  std::string result;
  bool cut = false;
  for (const std::string& line : lines(cut_width)) {
    cut = cut || display_width(line) > cut_width;
    result += cut_to_width(line, cut_width) + "\n";
  }
  if (cut) result.append("(cut to the terminal's width; ").append(whole_by).append(" has all)\n");
  return result;
}

}  // namespace tilesmith::tuner
