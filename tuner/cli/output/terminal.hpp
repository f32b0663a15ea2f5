// What is on the other end of stdout and stderr, and a status block at the bottom of stderr that log lines do not
// disturb.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tilesmith::tuner {

/// Columns of the terminal on stdout; 0 if stdout is no terminal (nothing is then cut).
std::size_t stdout_width();

/// stderr: log lines above, a redrawn status block below (only on a terminal). Thread-safe.
class Screen {
 public:
  static Screen& instance();

  bool is_terminal() const { return terminal_; }
  /// Writes a finished line (without newline) above the status block.
  void print_line(std::string_view line);
  /// Replaces the status block; nothing unless is_terminal(). Lines are cut to the terminal's width.
  void set_status(std::vector<std::string> lines);
  void clear_status();

 private:
  Screen();
  void erase_block();
  void draw_block();

  std::mutex mutex_;
  bool terminal_ = false;
  std::vector<std::string> status_;
  std::size_t drawn_lines_ = 0;
};

/// The status block goes when this does.
struct ClearedStatus {
  ClearedStatus() = default;
  ~ClearedStatus() { Screen::instance().clear_status(); }
  ClearedStatus(const ClearedStatus&) = delete;
  ClearedStatus& operator=(const ClearedStatus&) = delete;
};

}  // namespace tilesmith::tuner
