// What stored records are judged by.
#include "db/store/trust.hpp"
#include "runtime/choose/choosers.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/library_fixture.hpp"

using namespace tilesmith;
using namespace tilesmith::runtime;
using namespace tilesmith::runtime::fake;

namespace {

const Config kGemv("gemv", {{"rows", 4}});

db::Record recorded(const LibraryFixture& fixture, std::int64_t id, const Config& config, const std::string& nvrtc,
    const std::string& policy) {
  db::Record entry = fixture.record("f16f32 NN 1 512 512", LibraryFixture::simt(32), 10);
  entry.id = id;
  entry.config = config;
  entry.environment.nvrtc_version = nvrtc;
  entry.environment.measuring_policy = policy;
  return entry;
}

}  // namespace

TEST_CASE("a family that was not timed since the measuring policy changed is judged by the new policy",
    "[environment_to_judge_by]") {
  const LibraryFixture fixture;
  const std::vector<db::Record> entries{
      recorded(fixture, 2, LibraryFixture::simt(32), "13.0", "cold-4"), recorded(fixture, 1, kGemv, "12.6", "cold-3")};
  const KernelTarget target = fixture.target(entries[0].task.problem());
  const auto now = environment_to_judge_by(entries, "gemv", fixture.info.identity, target, "");
  CHECK(now.measuring_policy == "cold-4");
  CHECK(now.nvrtc_version == "12.6");
  CHECK(db::judge_environment(entries[1].environment, now) == db::Trust::remeasure);
}

TEST_CASE(
    "another device's newer policy judges nothing where the device has times of its own", "[environment_to_judge_by]") {
  const LibraryFixture fixture;
  std::vector<db::Record> entries{
      recorded(fixture, 2, LibraryFixture::simt(32), "13.0", "cold-4"), recorded(fixture, 1, kGemv, "12.6", "cold-3")};
  entries[0].device.sm_count += 1;
  const KernelTarget target = fixture.target(entries[0].task.problem());
  CHECK(environment_to_judge_by(entries, "gemv", fixture.info.identity, target, "").measuring_policy == "cold-3");
  CHECK(environment_to_judge_by(entries, "simt", fixture.info.identity, target, "").measuring_policy == "cold-3");
}
