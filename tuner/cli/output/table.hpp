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

  /// Where lines are wider than they are cut to, the cells from this column on go to lines of their own below, indented.
  void hang_from(std::size_t column) { hang_from_ = column; }

  /// Columns of its longest line, nothing hanging.
  std::size_t width() const;
  /// Lines with a trailing newline. `cut_width` > 0 cuts longer lines to that many columns, ending them with "…".
  std::string text(std::size_t cut_width = 0) const;
  /// The same, and where something was cut a last line that says what has all of it: "--format csv".
  std::string text(std::size_t cut_width, std::string_view whole_by) const;

 private:
  std::vector<std::size_t> widths() const;
  std::vector<std::string> lines(std::size_t cut_width) const;
  std::size_t hang_from_ = std::size_t(-1);
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// How many terminal columns UTF-8 text takes (one a code point: Tilesmith prints no wide characters).
std::size_t display_width(std::string_view text);
/// At most `width` columns of the text, the last of them "…" if something was cut.
std::string cut_to_width(const std::string& text, std::size_t width);

}  // namespace tilesmith::tuner
