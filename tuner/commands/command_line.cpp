#include "tuner/commands/command_line.hpp"

namespace tilesmith::tuner {
namespace {

struct Stored {
  std::string line;
  std::vector<std::string> arguments;
};

Stored& stored() {
  static Stored words;
  return words;
}

}  // namespace

void set_command_line(int argc, const char* const* argv) {
  stored() = {"tilesmith", {argv + (argc > 0 ? 1 : 0), argv + argc}};
  for (const std::string& word : stored().arguments) stored().line += " " + word;
}

const std::string& command_line() { return stored().line; }

const std::vector<std::string>& command_arguments() { return stored().arguments; }

}  // namespace tilesmith::tuner
