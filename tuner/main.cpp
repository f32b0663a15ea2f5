// The program `tilesmith`: its commands are in tuner/cli/ (command.hpp).
#include <csignal>
#include <string_view>

#include "tuner/cli/commands/command.hpp"
#include "tuner/workers/worker.hpp"

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may grow no more is an error of the write, which names the file
  // Worker processes are this same program. They are told apart before anything else, so that they start fast.
  if (argc > 1 && std::string_view(argv[1]) == "worker") return tilesmith::tuner::worker_main(argc - 1, argv + 1);
  return tilesmith::tuner::run_program(argc, argv);
}
