#include "tuner/cli/output/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tuner/cli/output/table.hpp"

namespace tilesmith::tuner {
namespace {

std::size_t width_of(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

void write_stderr(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::size_t stdout_width() { return ::isatty(STDOUT_FILENO) == 1 ? width_of(STDOUT_FILENO) : 0; }

Screen& Screen::instance() {
  static Screen screen;
  return screen;
}

Screen::Screen() {
  const char* kind = std::getenv("TERM");
  terminal_ = ::isatty(STDERR_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

void Screen::print_line(std::string_view line) {
  const std::scoped_lock lock(mutex_);
  erase_block();
  write_stderr(std::string(line) + "\n");
  draw_block();
}

void Screen::set_status(std::vector<std::string> lines) {
  if (!terminal_) return;
  const std::scoped_lock lock(mutex_);
  erase_block();
  status_ = std::move(lines);
  draw_block();
}

void Screen::clear_status() {
  const std::scoped_lock lock(mutex_);
  erase_block();
  status_.clear();
}

// The cursor rests at the start of the line below the block, so that a program that dies leaves the terminal usable.
void Screen::erase_block() {
  if (drawn_lines_ == 0) return;
  write_stderr("\x1b[" + std::to_string(drawn_lines_) + "A\r\x1b[J");
  drawn_lines_ = 0;
}

void Screen::draw_block() {
  if (status_.empty()) return;
  const std::size_t width = width_of(STDERR_FILENO);
  std::string text;
  for (const std::string& line : status_) text += cut_to_width(line, width - 1) + "\n";
  write_stderr(text);
  drawn_lines_ = status_.size();
}

}  // namespace tilesmith::tuner
