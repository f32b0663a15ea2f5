#include "tuner/commands/command_line.hpp"

namespace tilesmith::tuner {
namespace {

std::string& stored() {
  static std::string line;
  return line;
}

}  // namespace

void set_command_line(int argc, const char* const* argv) {
  stored() = "tilesmith";
  for (int i = 1; i < argc; ++i) stored() += std::string(1, ' ') + argv[i];
}

const std::string& command_line() { return stored(); }

}  // namespace tilesmith::tuner
