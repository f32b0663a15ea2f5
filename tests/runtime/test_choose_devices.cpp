// Whose records a choice goes by, where several devices are in the database.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/runtime/choose_toy.hpp"

using namespace tilesmith;
using namespace tilesmith::runtime;
using namespace tilesmith::runtime::choosing;

TEST_CASE("another device's entry for the very problem is not exact", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 5)};
  const db::DeviceIdentity other = device("Other GPU");
  const Choice choice = given.choose("f16f32 NN 512 512 512", &other);
  CHECK(choice.level == Level::model);
  CHECK(choice.config == toy(64));
  const db::DeviceIdentity same = device();
  CHECK(given.choose("f16f32 NN 512 512 512", &same).level == Level::exact);
}

TEST_CASE("a similar device is believed about the very problem", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 5), entry("f16f32 NN 528 512 512", toy(128), 9)};
  given.entries[0].device = device("Other GPU");
  const db::DeviceIdentity here = device();
  const Choice choice = given.choose("f16f32 NN 512 512 512", &here);
  CHECK(choice.level == Level::model);
  CHECK(choice.config == toy(64));
  CHECK(choice.reason.find("Other GPU") != std::string::npos);
  CHECK(given.choose("f16f32 NN 528 512 512", &here).level == Level::exact);
}
