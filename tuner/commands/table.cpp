#include "tuner/commands/table.hpp"

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

std::string TextTable::text(std::size_t cut_width) const {
  const std::vector<std::size_t> widest = widths();
  const auto line = [&](const auto& cell_of) {
    std::string result;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string& cell = cell_of(c);
      const std::string padding(widest[c] - display_width(cell), ' ');
      if (c > 0) result += "  ";
      result += columns_[c].align == Align::right ? padding + cell : cell + padding;
    }
    result.erase(result.find_last_not_of(' ') + 1);
    return cut_to_width(result, cut_width) + "\n";
  };
  std::string result = line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (const auto& row : rows_) result += line([&](std::size_t c) -> const std::string& { return row[c]; });
  return result;
}

}  // namespace tilesmith::tuner
