// A table of text with aligned columns, for people.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilesmith::tuner {

class TextTable {
 public:
  /// A column for each title. One that begins with ">" is aligned to the right; a "<" before a title is dropped.
  explicit TextTable(std::vector<std::string> titles);
  void add(std::vector<std::string> cells);  ///< one cell a column; missing ones are empty
  bool empty() const { return rows_.empty(); }

  /// Where lines are wider than they are cut to, the cells from this column on go to lines of their own below,
  /// indented.
  void hang_from(std::size_t column) { hang_from_ = column; }

  /// Columns of its longest line, nothing hanging.
  std::size_t width() const;
  /// Lines with a trailing newline. `cut_width` > 0 cuts longer lines to that many columns, ending them with "…". Where
  /// something was cut, a last line says what has all of it: `whole_by`, such as "--format csv", if that is not empty.
  std::string text(std::size_t cut_width = 0, std::string_view whole_by = "") const;

 private:
  std::vector<std::size_t> widths() const;
  std::vector<std::string> lines(std::size_t cut_width) const;
  std::size_t hang_from_ = std::size_t(-1);
  std::vector<std::string> titles_;
  std::vector<bool> is_right_;
  std::vector<std::vector<std::string>> rows_;
};

/// Counts by group, a line a group in the order of their names.
class CountTable {
 public:
  /// Titles as for TextTable.
  CountTable(std::vector<std::string> group_titles, std::vector<std::string> count_titles)
      : group_titles_(std::move(group_titles)), count_titles_(std::move(count_titles)) {}
  std::size_t& at(const std::vector<std::string>& group, std::size_t column);
  std::size_t sum(std::size_t column) const;
  std::string text(std::size_t cut_width) const;

 private:
  std::vector<std::string> group_titles_, count_titles_;
  std::map<std::vector<std::string>, std::vector<std::size_t>> groups_;
};

/// How many terminal columns UTF-8 text takes (one a code point: Tilesmith prints no wide characters).
std::size_t display_width(std::string_view text);
/// At most `width` columns of the text, the last of them "…" if something was cut.
std::string cut_to_width(const std::string& text, std::size_t width);

}  // namespace tilesmith::tuner
