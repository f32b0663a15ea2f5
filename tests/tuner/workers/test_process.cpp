#include <signal.h>

#include <chrono>
#include <system_error>

#include "tests/catch.hpp"
#include "tuner/workers/process.hpp"

using namespace tilesmith::tuner;

namespace {

constexpr const char* kStartedChild = TILESMITH_TUNER_CHILD;

Message message_of(const std::string& word, std::size_t blob_bytes = 0) {
  Message message{{{"word", word}}, std::vector<std::byte>(blob_bytes)};
  for (std::size_t i = 0; i < blob_bytes; ++i) message.blob[i] = std::byte(i * 7);
  return message;
}

}  // namespace

TEST_CASE("a worker answers messages with blobs of any size") {
  WorkerProcess child({"echo"}, kStartedChild);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{5000000}}) {
    const Message sent = message_of("hello", bytes);
    REQUIRE(child.send(sent));
    const std::optional<Message> received = child.receive();
    REQUIRE(received);
    CHECK(received->json == sent.json);
    CHECK(received->blob == sent.blob);
  }
  CHECK(child.alive());
}

TEST_CASE("text that is no UTF-8 passes, with its bad bytes replaced") {
  WorkerProcess child({"echo"}, kStartedChild);
  REQUIRE(child.send(message_of("bad \xff byte")));
  const std::optional<Message> received = child.receive();
  REQUIRE(received);
  CHECK(received->json.at("word").get<std::string>().substr(0, 4) == "bad ");
}

TEST_CASE("a child that ends is told by its ending in words") {
  WorkerProcess crashing({"crash"}, kStartedChild);
  REQUIRE(crashing.send(message_of("go")));
  CHECK_FALSE(crashing.receive());
  CHECK(crashing.ending().find("killed by signal 6") == 0);
  CHECK_FALSE(crashing.alive());

  WorkerProcess exiting({"exit3"}, kStartedChild);
  REQUIRE(exiting.send(message_of("go")));
  CHECK_FALSE(exiting.receive());
  CHECK(exiting.ending() == "exit status 3");
  CHECK_FALSE(exiting.send(message_of("anyone there?")));
}

TEST_CASE("a corrupt frame counts as the child's end") {
  for (const char* mode : {"corrupt", "no_json"}) {
    WorkerProcess child({mode}, kStartedChild);
    CHECK_FALSE(child.receive());
    CHECK(child.ending().find("sent a frame") == 0);
    CHECK_FALSE(child.alive());
  }
}

TEST_CASE("a hanging child is killed, and its silence does not block the tuner") {
  WorkerProcess child({"hang"}, kStartedChild);
  Message message;
  CHECK(child.try_receive(message) == Connection::Read::nothing_yet);
  CHECK(child.alive());
  child.kill();
  CHECK_FALSE(child.alive());
  CHECK(child.ending() == "killed by signal 9 (Killed)");
}

TEST_CASE("a child outlives interrupts from the terminal") {
  WorkerProcess child({"echo"}, kStartedChild);
  ::kill(child.pid(), SIGINT);
  ::kill(child.pid(), SIGTERM);
  ::kill(child.pid(), SIGHUP);
  REQUIRE(child.send(message_of("still there?")));
  CHECK(child.receive());
}

TEST_CASE("a program that cannot be started throws") {
  CHECK_THROWS_AS(WorkerProcess({"echo"}, "/nonexistent/program"), std::system_error);
}
