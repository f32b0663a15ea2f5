// Child tuners: their lines, and their end.
#include "tuner/supervisor/tuner_process.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/catch.hpp"

using namespace tilesmith::tuner;

TEST_CASE("a tuner process whose end somebody else was told has not ended well") {
  TunerProcess process({"--help"}, STDIN_FILENO);  // of this program
  int status = -1;
  REQUIRE(::waitpid(process.pid(), &status, 0) == process.pid());
  CHECK(status == 0);
  REQUIRE(process.ended());
  REQUIRE(WIFEXITED(process.wait_status()));
  CHECK(WEXITSTATUS(process.wait_status()) == 255);
}

TEST_CASE("a tuner process that ends well says so") {
  TunerProcess process({"--help"}, STDIN_FILENO);
  std::size_t lines = 0;
  while (!process.ended()) {
    pollfd there{process.fd(), POLLIN, 0};
    ::poll(&there, 1, 10);
    lines += process.read_lines().size();
  }
  lines += process.read_lines().size();
  CHECK(lines > 0);
  CHECK(process.wait_status() == 0);
}
