#include "db/bundle.hpp"

#include "tests/catch.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

Bundle sample_bundle() {
  Bundle bundle;
  bundle.device = sample_device();
  bundle.arch = "sm_90a";
  bundle.made_at = "2026-01-01T00:00:00.000Z";
  bundle.bests = {right(10, sample_config(1)), right(20, sample_config(2), sample_problem("bf16f32 TT 1 2 3"))};
  for (Evidence& best : bundle.bests) best.created_at = "2025-12-31T00:00:00.000Z";
  bundle.builds = {sample_build(sample_config(1), 1), sample_build(sample_config(2), 2), sample_build(sample_config(3), 1)};
  return bundle;
}

}  // namespace

TEST_CASE("a bundle comes back as it was saved") {
  TemporaryFolder folder;
  const Bundle bundle = sample_bundle();
  save_bundle(bundle, folder / "a.tsb");
  CHECK(is_bundle(folder / "a.tsb"));
  CHECK(folder.listing() == "a.tsb");
  const Bundle back = load_bundle(folder / "a.tsb");
  CHECK(back.device == bundle.device);
  CHECK(back.arch == "sm_90a");
  CHECK(back.made_at == bundle.made_at);
  REQUIRE(back.bests.size() == 2);
  CHECK(back.bests[1].problem == bundle.bests[1].problem);
  CHECK(back.bests[1].config == bundle.bests[1].config);
  CHECK(back.bests[1].producer == bundle.bests[1].producer);
  CHECK(back.bests[1].outcome.timing->median_us == 20);
  REQUIRE(back.builds.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(back.builds[i].cubin == bundle.builds[i].cubin);
    CHECK(back.builds[i].key.config == bundle.builds[i].key.config);
    CHECK(back.builds[i].key.type == bundle.builds[i].key.type);
    CHECK(back.builds[i].key.trans == bundle.builds[i].key.trans);
    CHECK(back.builds[i].key.arch == bundle.builds[i].key.arch);
    CHECK(back.builds[i].key.template_hash == bundle.builds[i].key.template_hash);
    CHECK(back.builds[i].key.compiler_options == bundle.builds[i].key.compiler_options);
    CHECK(back.builds[i].key.nvrtc_version == bundle.builds[i].key.nvrtc_version);
    CHECK(back.builds[i].registers == 168);
    CHECK(back.builds[i].status == Status::ok);
  }
}

TEST_CASE("an empty bundle is a bundle") {
  TemporaryFolder folder;
  Bundle bundle;
  bundle.device = sample_device();
  save_bundle(bundle, folder / "a.tsb");
  CHECK(load_bundle(folder / "a.tsb").builds.empty());
}

TEST_CASE("a bundle that is cut short or longer is refused, wherever the cut") {
  TemporaryFolder folder;
  save_bundle(sample_bundle(), folder / "a.tsb");
  const std::string whole = slurp(folder / "a.tsb");
  for (const std::size_t length : {std::size_t{0}, std::size_t{4}, std::size_t{8}, std::size_t{30}, std::size_t{56},
                                   std::size_t{60}, whole.size() / 2, whole.size() - 1}) {
    spill(folder / "b.tsb", whole.substr(0, length));
    const std::string error = store_error([&] { load_bundle(folder / "b.tsb"); });
    INFO(length << ": " << error);
    CHECK(contains(error, (folder / "b.tsb").string()));
    CHECK(contains(error, length < 8 ? "is no Tilesmith bundle" : "truncated"));
    CHECK(is_one_line(error));
  }
  spill(folder / "b.tsb", whole + "x");
  CHECK(contains(store_error([&] { load_bundle(folder / "b.tsb"); }), "longer"));
}

TEST_CASE("a flipped bit anywhere in a bundle is noticed") {
  TemporaryFolder folder;
  save_bundle(sample_bundle(), folder / "a.tsb");
  const std::string whole = slurp(folder / "a.tsb");
  for (std::size_t at = 0; at < whole.size(); at += at < 64 ? 1 : whole.size() / 50) {
    if (at >= 12 && at < 16) continue;  // reserved
    std::string flipped = whole;
    flipped[at] = char(flipped[at] ^ 0x10);
    spill(folder / "b.tsb", flipped);
    const std::string error = store_error([&] { load_bundle(folder / "b.tsb"); });
    INFO(at << ": " << error);
    CHECK(error != "no error");
  }
}

TEST_CASE("a newer bundle and other files are refused with the reason") {
  TemporaryFolder folder;
  save_bundle(sample_bundle(), folder / "a.tsb");
  std::string newer = slurp(folder / "a.tsb");
  newer[8] = 2;
  spill(folder / "b.tsb", newer);
  CHECK(contains(store_error([&] { load_bundle(folder / "b.tsb"); }), "version 2 is newer"));
  spill(folder / "text", "just text");
  CHECK(contains(store_error([&] { load_bundle(folder / "text"); }), "is no Tilesmith bundle"));
  CHECK_FALSE(is_bundle(folder / "text"));
  CHECK_FALSE(is_bundle(folder / "missing"));
  CHECK_FALSE(is_bundle(folder.path()));
  CHECK(contains(store_error([&] { load_bundle(folder / "missing"); }), "missing"));
}

TEST_CASE("only builds that run go into a bundle, and an unwritable path leaves nothing") {
  TemporaryFolder folder;
  Bundle bundle = sample_bundle();
  bundle.builds[1].status = Status::spilled;
  CHECK(contains(store_error([&] { save_bundle(bundle, folder / "a.tsb"); }), "spilled"));
  CHECK(contains(store_error([&] { save_bundle(sample_bundle(), folder / "no" / "a.tsb"); }), "no folder"));
  CHECK(folder.listing().empty());
}
