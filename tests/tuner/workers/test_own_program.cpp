// Which program a worker process is: what an emulator needs to be told.
#include <cstdlib>
#include <string>

#include "tests/catch.hpp"
#include "tuner/workers/process.hpp"
#include "tuner/workers/spawn.hpp"

using namespace tilesmith::tuner;

namespace {

struct ToldProgram {
  explicit ToldProgram(const std::string& value) {
    if (const char* set = std::getenv(kName)) before = set;
    ::setenv(kName, value.c_str(), 1);
  }
  ~ToldProgram() { before.empty() ? ::unsetenv(kName) : ::setenv(kName, before.c_str(), 1); }
  static constexpr const char* kName = "TILESMITH_WORKER_PROGRAM";
  std::string before;
};

std::string complaint() {
  try {
    own_program();
  } catch (const OwnProgramError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("workers are this very program unless another is named") {
  const ToldProgram none("");
  CHECK(own_program() == "/proc/self/exe");
}

TEST_CASE("workers are the program that TILESMITH_WORKER_PROGRAM names") {
  const ToldProgram told(TILESMITH_TUNER_CHILD);
  WorkerProcess child({"echo"});
  REQUIRE(child.send(Message{{{"word", "told"}}, {}}));
  const std::optional<Message> received = child.receive();
  REQUIRE(received);
  CHECK(received->json.at("word") == "told");
}

TEST_CASE("a TILESMITH_WORKER_PROGRAM that cannot be started is refused before anything is started") {
  for (const std::string wrong :
      {"tilesmith", "bin/tilesmith", "/", "/nothing/here", TILESMITH_SOURCE_DIR "/README.md"}) {
    const ToldProgram told(wrong);
    CHECK(complaint() ==
          "TILESMITH_WORKER_PROGRAM=" + wrong + ": expected the absolute path of a file that can be started");
    CHECK_THROWS_AS(WorkerProcess({"echo"}), OwnProgramError);
  }
}
