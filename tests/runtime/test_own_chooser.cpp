// Which config of a kernel of one's own runs at given sizes.
#include "runtime/choose/own_chooser.hpp"

#include "tests/catch.hpp"
#include "tests/runtime/own_kernel_fixture.hpp"

namespace tilesmith::runtime::own_chooser {

namespace {

using Fixture = fake::OwnKernelFixture;

std::vector<Choice> choices(const Fixture& f, std::vector<db::Record> entries, const Task& task) {
  return OwnChooser(std::move(entries), f.kernel(), f.info).choices(task.kernel());
}

}  // namespace

TEST_CASE("sizes that were measured run their fastest config of today", "[own_kernel]") {
  const Fixture f("chosen_exactly");
  const Task task = f.task(64, 512);
  db::Record former = f.record(task, f.config(512, 1), 1);
  former.plan_hash = "of a former source";
  db::Record failed = f.record(task, f.config(64, 8), 0.5), broken = failed;
  broken.id = 9;
  broken.outcome = {db::Status::mismatch, "wrong", std::nullopt};
  const std::vector<Choice> found = choices(
      f, {former, failed, broken, f.record(task, f.config(128, 4), 3), f.record(task, f.config(256, 1), 2)}, task);
  REQUIRE(found.size() == 2);
  CHECK(found[0].config == f.config(256, 1));
  CHECK(found[0].level == Level::exact);
  CHECK(found[0].reason == "measured at these sizes: 2.00 us");
  CHECK(found[0].trust == db::Trust::valid);
  CHECK(found[1].config == f.config(128, 4));
}

TEST_CASE("a driver that changed since makes a record one to verify again, and it runs", "[own_kernel]") {
  const Fixture f("chosen_again");
  db::Record entry = f.record(f.task(64, 512), f.config(256, 1), 2);
  entry.environment.driver_version = "CUDA 11.8";
  const std::vector<Choice> found = choices(f, {entry}, f.task(64, 512));
  CHECK(found.at(0).config == f.config(256, 1));
  CHECK(found.at(0).trust == db::Trust::reverify);
}

TEST_CASE("sizes that were not measured run what was fastest at the nearest ones", "[own_kernel]") {
  const Fixture f("chosen_near");
  const Config a = f.config(256, 1), b = f.config(128, 4), c = f.config(512, 1);
  const std::vector<db::Record> entries = {f.record(f.task(64, 512), a, 2), f.record(f.task(64, 512), b, 3),
      f.record(f.task(65536, 512), b, 90), f.record(f.task(65536, 512), c, 80)};
  const std::vector<Choice> found = choices(f, entries, f.task(128, 512));
  REQUIRE(found.size() == 3);
  CHECK((found[0].config == a && found[1].config == b && found[2].config == c));
  CHECK(found[0].level == Level::model);
  CHECK(found[0].reason == "measured at kernel chosen_near rows=64 cols=512: 2.00 us");
  CHECK(found[0].record->task == f.task(64, 512));
  CHECK(choices(f, entries, f.task(32768, 512)).at(0).config == c);
  CHECK(choices(f, entries, f.task(64, 1 << 20)).at(0).config == a);

  // The same sizes on another device of the compute capability are as far as twice the rows.
  std::vector<db::Record> elsewhere = {f.record(f.task(128, 512), c, 1), f.record(f.task(160, 512), b, 1)};
  elsewhere[0].device.name = "another";
  CHECK(choices(f, elsewhere, f.task(128, 512)).at(0).config == b);
  CHECK(choices(f, elsewhere, f.task(128, 512)).at(1).level == Level::model);
}

TEST_CASE("a config that may not run at the sizes, or that failed last at others, is not chosen", "[own_kernel]") {
  const Fixture f("chosen_legally", R"("block <= cols")");
  const auto config = [&](int block) { return f.config(block, 1); };
  db::Record failed = f.record(f.task(64, 512), config(64), 1);
  failed.outcome = {db::Status::mismatch, "wrong", std::nullopt};
  const std::vector<db::Record> entries = {f.record(f.task(64, 512), config(256), 1),
      f.record(f.task(64, 512), config(128), 2), f.record(f.task(8, 512), config(64), 1), failed};
  const std::vector<Choice> found = choices(f, entries, f.task(64, 200));
  CHECK(found.at(0).config == config(128));
  CHECK(found.size() == 1);
}

TEST_CASE("without records the first legal config of kernel.json runs", "[own_kernel]") {
  const Fixture f("chosen_first");
  const std::vector<Choice> found = choices(f, {}, f.task(64, 512));
  REQUIRE(found.size() == 1);
  CHECK(found[0].config == f.config(64, 4));
  CHECK(found[0].level == Level::generic);
  const Fixture none("chosen_never");
  const Config before = f.config(64, 1);
  CHECK(choices(f, {f.record(f.task(64, 512), before, 1)}, f.task(64, 512)).size() == 1);  // no rule allows it
}

}  // namespace tilesmith::runtime::own_chooser
