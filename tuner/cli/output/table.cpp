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

TextTable::TextTable(std::vector<std::string> titles) : titles_(std::move(titles)) {
  for (std::string& title : titles_) {
    is_right_.push_back(title.starts_with('>'));
    if (title.starts_with('>') || title.starts_with('<')) title.erase(0, 1);
  }
}

void TextTable::add(std::vector<std::string> cells) {
  cells.resize(titles_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> result;
  for (std::size_t c = 0; c < titles_.size(); ++c) {
    std::size_t widest = display_width(titles_[c]);
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
  const bool hangs = cut_width > 0 && hang_from_ < titles_.size() && width() > cut_width;
  const std::size_t end = hangs ? hang_from_ : titles_.size();
  std::vector<std::string> result;
  const auto add_row = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t c = 0; c < end; ++c) {
      const std::string padding(widest[c] - display_width(cells[c]), ' ');
      if (c > 0) line += "  ";
      line += is_right_[c] ? padding + cells[c] : cells[c] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result.push_back(std::move(line));
    for (std::size_t c = end; c < cells.size(); ++c) {
      if (!cells[c].empty()) result.push_back("    " + cells[c]);
    }
  };
  add_row(titles_);
  for (const auto& row : rows_) add_row(row);
  return result;
}

std::string TextTable::text(std::size_t cut_width, std::string_view whole_by) const {
  std::string result;
  bool cut = false;
  for (const std::string& line : lines(cut_width)) {
    cut = cut || (cut_width > 0 && display_width(line) > cut_width);
    result += cut_to_width(line, cut_width) + "\n";
  }
  if (cut && !whole_by.empty()) result.append("(cut to the terminal's width; ").append(whole_by).append(" has all)\n");
  return result;
}

std::size_t& CountTable::at(const std::vector<std::string>& group, std::size_t column) {
  return groups_.try_emplace(group, count_titles_.size()).first->second[column];
}

std::size_t CountTable::sum(std::size_t column) const {
  std::size_t sum = 0;
  for (const auto& [group, counts] : groups_) sum += counts[column];
  return sum;
}

std::string CountTable::text(std::size_t cut_width) const {
  std::vector<std::string> titles = group_titles_;
  titles.insert(titles.end(), count_titles_.begin(), count_titles_.end());
  TextTable table(std::move(titles));
  for (const auto& [group, counts] : groups_) {
    std::vector<std::string> cells = group;
    for (const std::size_t count : counts) cells.push_back(std::to_string(count));
    table.add(std::move(cells));
  }
  return table.text(cut_width);
}

}  // namespace tilesmith::tuner
