// A table of text with aligned columns, for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilesmith::tuner {

class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells);  ///< one cell a column; missing ones are empty
  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }

  /// Columns of its longest line.
  std::size_t width() const;
  /// Lines with a trailing newline. `cut_width` > 0 cuts longer lines to that many columns, ending them with "…".
  std::string text(std::size_t cut_width = 0) const;

 private:
  std::vector<std::size_t> widths() const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// How many terminal columns UTF-8 text takes (one a code point: Tilesmith prints no wide characters).
std::size_t display_width(std::string_view text);
/// At most `width` columns of the text, the last of them "…" if something was cut.
std::string cut_to_width(const std::string& text, std::size_t width);

}  // namespace tilesmith::tuner
