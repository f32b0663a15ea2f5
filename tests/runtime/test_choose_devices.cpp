// Whose evidence a choice goes by, where several devices are in the database.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/runtime/choose_toy.hpp"

using namespace tilesmith;
using namespace tilesmith::runtime;
using namespace tilesmith::runtime::choosing;

TEST_CASE("another device's entry for the very problem is a neighbour", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 5)};
  const db::DeviceIdentity other = device("Other GPU");
  const Choice choice = given.choose("f16f32 NN 512 512 512", &other);
  CHECK(choice.rung == Rung::neighbour);
  CHECK(choice.config == toy(64));
  const db::DeviceIdentity same = device();
  CHECK(given.choose("f16f32 NN 512 512 512", &same).rung == Rung::exact);
}

TEST_CASE("a device alike is believed about the very problem before a neighbour of one's own, a smaller one is not", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 5), entry("f16f32 NN 528 512 512", toy(128), 9)};
  given.entries[0].device = device("Other GPU");
  const db::DeviceIdentity here = device();
  const Choice choice = given.choose("f16f32 NN 512 512 512", &here);
  CHECK(choice.rung == Rung::neighbour);
  CHECK(choice.config == toy(64));
  CHECK(choice.reason.find("Other GPU") != std::string::npos);
  CHECK(given.choose("f16f32 NN 528 512 512", &here).rung == Rung::exact);
  given.entries.push_back(entry("f16f32 NN 512 512 512 beta=any", toy(192), 5));
  CHECK(given.choose("f16f32 NN 512 512 512", &here).config == toy(64));
  given.entries[0].device.sm_count = here.sm_count / 2 - 1;
  CHECK(given.choose("f16f32 NN 512 512 512", &here).config == toy(192));
}

TEST_CASE("of devices alike the one with as many multiprocessors is believed first", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 5), entry("f16f32 NN 512 512 512", toy(128), 5)};
  given.entries[0].device = device("A larger GPU");
  given.entries[0].device.sm_count *= 2;
  given.entries[1].device = device("Other GPU");
  const db::DeviceIdentity here = device();
  CHECK(given.choose("f16f32 NN 512 512 512", &here).config == toy(128));
}

TEST_CASE("five problems compete, on however many devices they were measured", "[choose]") {
  Given given;
  const db::DeviceIdentity here = device();
  for (int k = 2; k <= 7; ++k) {
    for (const char* name : {"Test GPU", "Other GPU"}) {
      given.entries.push_back(entry(fmt::format("f16f32 NN 512 512 {}", 512 * k), nth_toy(k), k));
      given.entries.back().device = device(name);
    }
  }
  const Choice choice = given.choose("f16f32 NN 512 512 512", &here);
  CHECK(choice.runners_up.size() == 4);
  for (const Choice::RunnerUp& other : choice.runners_up) CHECK(other.note.find("Other GPU") == std::string::npos);
  // Where this device has none of them, it is said whose they are.
  std::erase_if(given.entries, [&](const db::Evidence& one) { return one.device == here; });
  CHECK(given.choose("f16f32 NN 512 512 512", &here).runners_up.at(0).note.find(" on Other GPU") != std::string::npos);
}
