#include "db/files/bundle.hpp"

#include <fmt/format.h>

#include "db/exchange/record_json.hpp"
#include "db/files/compress.hpp"
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
  for (Record& best : bundle.bests) best.created_at = "2025-12-31T00:00:00.000Z";
  bundle.builds = {
      sample_build(sample_config(1), 1), sample_build(sample_config(2), 2), sample_build(sample_config(3), 1)};
  return bundle;
}

template <typename T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out += char(value >> (8 * i) & 0xff);
}

/// A bundle as the layout in bundle.cpp has it, with any index.
std::string bundle_of(const std::string& index, const std::string& frames = "") {
  const auto packed = compress(as_bytes(index));
  std::string payload;
  put<std::uint64_t>(payload, packed.size());
  payload += std::string(as_text(packed)) + frames;
  std::string file = "TSBUNDLE";
  put<std::uint64_t>(file, 1);
  put<std::uint64_t>(file, payload.size());
  return file + content_hash(as_bytes(payload)) + payload;
}

/// So many builds of one frame.
std::string bundle_of_one_frame(int builds, const std::string& frame, const char* status = nullptr) {
  Json index = {{"device", to_json(sample_device())}, {"arch", "sm_90a"}, {"made_at", ""}, {"bests", Json::array()}};
  index["builds"] = Json::array();
  for (int i = 0; i < builds; ++i) {
    index["builds"].push_back({{"config", sample_config(i).text()}, {"signature", "f16f32 NN"}, {"arch", "sm_90a"},
        {"kernel_hash", "h"}, {"compiler_options", "o"}, {"nvrtc_version", "13.0"}, {"registers", 1},
        {"spill_bytes", 0}, {"static_smem_bytes", 0}, {"offset", 0}, {"bytes", frame.size()}});
    if (status != nullptr) index["builds"].back()["status"] = status;
  }
  return bundle_of(to_line(index), frame);
}

std::string frame_of_zeros(std::size_t bytes) {
  return std::string(as_text(compress(std::vector<std::byte>(bytes), 1)));
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
  CHECK(back.bests[1].task.problem() == bundle.bests[1].task.problem());
  CHECK(back.bests[1].config == bundle.bests[1].config);
  CHECK(back.bests[1].environment == bundle.bests[1].environment);
  CHECK(back.bests[1].outcome.timing->median_us == 20);
  REQUIRE(back.builds.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(back.builds[i].cubin == bundle.builds[i].cubin);
    CHECK(back.builds[i].key.config == bundle.builds[i].key.config);
    CHECK(back.builds[i].key.signature == bundle.builds[i].key.signature);
    CHECK(back.builds[i].key.arch == bundle.builds[i].key.arch);
    CHECK(back.builds[i].key.kernel_hash == bundle.builds[i].key.kernel_hash);
    CHECK(back.builds[i].key.compiler_options == bundle.builds[i].key.compiler_options);
    CHECK(back.builds[i].key.nvrtc_version == bundle.builds[i].key.nvrtc_version);
    CHECK(back.builds[i].registers == 168);
    CHECK(back.builds[i].status == Status::ok);
  }
}

TEST_CASE("a spilled build comes back as one, and no other status does") {
  TemporaryFolder folder;
  Bundle bundle = sample_bundle();
  bundle.builds[1].status = Status::spilled;
  bundle.builds[1].spill_bytes = 8;
  save_bundle(bundle, folder / "a.tsb");
  const Bundle back = load_bundle(folder / "a.tsb");
  REQUIRE(back.builds.size() == 3);
  CHECK(back.builds[0].status == Status::ok);
  CHECK(back.builds[1].status == Status::spilled);
  CHECK(back.builds[1].spill_bytes == 8);
  CHECK(back.builds[1].cubin == bundle.builds[1].cubin);
  for (const char* status : {"compile_failed", "torn"}) {
    const std::string other = bundle_of_one_frame(1, frame_of_zeros(9), status);
    const std::string error = store_error([&] { parse_bundle(other, "a.tsb"); });
    CHECK(error == fmt::format("a.tsb: builds, entry 1: \"status\" is '{}': expected ok or spilled", status));
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

TEST_CASE("a small bundle takes no more memory than a sound one may") {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  const std::string several = bundle_of_one_frame(3, frame_of_zeros(kMiB));
  CHECK(parse_bundle(several, "a.tsb", 3 * kMiB).builds.at(2).cubin == std::vector<std::byte>(kMiB));
  const std::string too_many = store_error([&] { parse_bundle(several, "a.tsb", 3 * kMiB - 1); });
  CHECK(
      too_many ==
      "a.tsb: builds, entry 3: its cubin does not decompress: expected one of up to 64 MiB, and all of up to 1024 MiB");
  const std::string too_large =
      store_error([&] { parse_bundle(bundle_of_one_frame(1, frame_of_zeros(64 * kMiB + 1)), "a.tsb"); });
  CHECK(contains(too_large, "a.tsb: builds, entry 1: its cubin does not decompress: expected one of up to 64 MiB"));
  const std::string long_index =
      store_error([&] { parse_bundle(bundle_of(std::string(64 * kMiB + 1, ' ')), "a.tsb"); });
  CHECK(long_index == "a.tsb: its index does not decompress: expected one of up to 64 MiB");
  const std::string deep = "{\"device\":" + std::string(200000, '[') + std::string(200000, ']') + "}";
  const std::string too_deep = store_error([&] { parse_bundle(bundle_of(deep), "a.tsb"); });
  CHECK(too_deep == "a.tsb: JSON nests deeper than 64 levels: expected less");
}

TEST_CASE("only builds that run go into a bundle, and an unwritable path leaves nothing") {
  TemporaryFolder folder;
  Bundle bundle = sample_bundle();
  bundle.builds[1].status = Status::compile_failed;
  CHECK(contains(store_error([&] { save_bundle(bundle, folder / "a.tsb"); }), "compile_failed"));
  CHECK(contains(store_error([&] { save_bundle(sample_bundle(), folder / "no" / "a.tsb"); }), "no folder"));
  CHECK(folder.listing().empty());
}

TEST_CASE("many cubins are packed each once and come back in their order, and the packing tells how far it is") {
  TemporaryFolder folder;
  Bundle bundle = sample_bundle();
  bundle.builds.clear();
  for (int i = 0; i < 90; ++i) bundle.builds.push_back(sample_build(sample_config(i), 1 + i % 30));
  std::vector<std::size_t> told;
  save_bundle(bundle, folder / "a.tsb", [&](std::size_t done, std::size_t total) {
    told.push_back(total == 30 ? done : 0);  // on other threads: no place for a CHECK
  });
  REQUIRE(told.size() == 30);
  for (std::size_t i = 0; i < told.size(); ++i) CHECK(told[i] == i + 1);
  const Bundle back = load_bundle(folder / "a.tsb");
  REQUIRE(back.builds.size() == 90);
  for (std::size_t i = 0; i < 90; ++i) {
    CHECK(back.builds[i].key.config == bundle.builds[i].key.config);
    CHECK(back.builds[i].cubin == bundle.builds[i].cubin);
  }
}
