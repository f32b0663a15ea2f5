#include <fmt/format.h>

#include <mutex>

#include "runtime/choose.hpp"
#include "runtime/neighbour.hpp"
#include "tests/catch.hpp"

using namespace tilesmith;
using namespace tilesmith::runtime;

namespace {

/// Blocks of tile×tile; refuses rows that are not 16-byte aligned when `wide` is 1, and is pointless for aligned ones when it
/// is 2.
class Toy final : public Family {
 public:
  std::string_view name() const override { return "choose_toy"; }
  std::string_view summary() const override { return "for tests of choosing"; }
  bool supports(const KernelTarget&) const override { return true; }
  std::vector<Parameter> parameters(const KernelTarget&) const override {
    return {{"tile", {16, 64, 128, 192}, "block tile"}, {"wide", {0, 1, 2}, "16-byte copies; 2: of packed rows"}};
  }
  std::vector<Rule> rules(const KernelTarget& target) const override {
    const int most = target.limits.smem_per_block_bytes / 1024;
    return {
        {"tile_fits", "the tile must fit the shared memory", [most](const Config& c) { return c.at("tile") <= most; }}};
  }
  std::optional<std::string> refusal(const Config& config, const Problem& p) const override {
    if (config.at("wide") == 1 && !aligned(p)) return "16-byte copies need aligned rows";
    return std::nullopt;
  }
  std::optional<std::string> dominated(const Config& config, const Problem& p) const override {
    if (config.at("wide") == 2 && aligned(p)) return "there is nothing to pack";
    return std::nullopt;
  }
  LaunchSequence launches(const Config& config, const Problem& p) const override {
    const auto blocks = [&](std::int64_t n) { return unsigned((n + config.at("tile") - 1) / config.at("tile")); };
    LaunchSequence sequence;
    Launch launch;
    launch.grid = {blocks(p.n), blocks(p.m), 1};
    sequence.launches.push_back(launch);
    return sequence;
  }
  std::string source(const Config&, const KernelTarget&) const override { return ""; }

 private:
  static bool aligned(const Problem& p) {
    return row_align_bytes(p, p.type.operand, p.lda) == 16 && row_align_bytes(p, p.type.operand, p.ldb) == 16;
  }
};

Config toy(int tile, int wide = 1) { return Config("choose_toy", {{"tile", tile}, {"wide", wide}}); }

Problem problem(const std::string& canonical) {
  std::string error;
  const auto parsed = parse_problem(canonical, error);
  if (!parsed) throw std::runtime_error(error);
  return *parsed;
}

db::Producer producer(const std::string& family) {
  return {"hash of " + family, "--gpu-architecture=sm_90a", "13.0", "580.1", "cold-1"};
}

db::DeviceIdentity device(const std::string& name = "Test GPU") {
  db::DeviceIdentity identity;
  identity.name = name;
  identity.sm = 90;
  identity.sm_count = 132;
  return identity;
}

db::Evidence entry(const std::string& where, const Config& config, double median_us) {
  db::Evidence evidence;
  evidence.problem = problem(where);
  evidence.config = config;
  evidence.device = device();
  evidence.producer = producer(config.family());
  evidence.outcome.status = db::Status::ok;
  evidence.outcome.timing = db::Timing{};
  evidence.outcome.timing->median_us = median_us;
  evidence.created_at = "2026-01-01T00:00:00.000Z";
  return evidence;
}

struct Given {
  Given() {
    static std::once_flag once;
    std::call_once(once, [] { register_family(std::make_unique<Toy>()); });
  }
  Choice choose(const std::string& where, const db::DeviceIdentity* here = nullptr) const {
    const Problem wanted = problem(where);
    const KernelTarget target{wanted.type, wanted.trans, *limits_for_arch(arch)};
    return runtime::choose(entries, wanted, target, producer, here);
  }
  std::string arch = "sm_90a";
  std::vector<db::Evidence> entries;
};

}  // namespace

TEST_CASE("the exact entry is chosen, the fastest of its configs first", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 9), entry("f16f32 NN 512 512 512", toy(128), 7),
                   entry("f16f32 NN 512 512 512", toy(192, 0), 8), entry("f16f32 NN 1024 512 512", toy(16), 1)};
  const Choice choice = given.choose("f16f32 NN 512 512 512");
  CHECK(choice.rung == Rung::exact);
  CHECK(choice.config == toy(128));
  REQUIRE(choice.evidence);
  CHECK(choice.evidence->outcome.timing->median_us == 7);
  CHECK(choice.trust == db::Trust::valid);
  CHECK(choice.reason.find("7.00 us") != std::string::npos);
  REQUIRE(choice.runners_up.size() == 3);
  CHECK(choice.runners_up[0].config == toy(192, 0));
  CHECK(choice.runners_up[1].config == toy(64));
  CHECK(choice.runners_up[2].rung == Rung::neighbour);
}

TEST_CASE("equal times go to the smaller config text, whatever the order of the entries", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 7), entry("f16f32 NN 512 512 512", toy(128), 7)};
  CHECK(given.choose("f16f32 NN 512 512 512").config == toy(128));
  std::swap(given.entries[0], given.entries[1]);
  CHECK(given.choose("f16f32 NN 512 512 512").config == toy(128));
}

TEST_CASE("another type pair or other transposes are never neighbours", "[choose]") {
  Given given;
  given.entries = {entry("bf16f32 NN 512 512 512", toy(64), 9), entry("f16f32 NT 512 512 512", toy(64), 9)};
  const Choice choice = given.choose("f16f32 NN 512 512 512");
  CHECK(choice.rung == Rung::generic);
  CHECK_FALSE(choice.evidence);
  CHECK(choice.reason.find("no evidence for f16f32 NN") != std::string::npos);
}

TEST_CASE("other leading dimensions, alignment or beta class make a neighbour, not an exact entry", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 9)};
  for (const char* other : {"lda=520", "align=8", "beta=any"}) {
    INFO(other);
    given.entries[0].config = toy(64, 0);
    CHECK(given.choose(fmt::format("f16f32 NN 512 512 512 {}", other)).rung == Rung::neighbour);
  }
}

TEST_CASE("a problem that differs in its beta class alone is the first neighbour", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 520 beta=any", toy(16), 9), entry("f16f32 NN 512 512 512", toy(64), 9)};
  const Choice choice = given.choose("f16f32 NN 512 512 512 beta=any");
  CHECK(choice.rung == Rung::neighbour);
  CHECK(choice.config == toy(16));
  given.entries[0] = entry("f16f32 NN 512 512 1024 beta=any", toy(16), 9);
  CHECK(given.choose("f16f32 NN 512 512 512 beta=any").config == toy(64));
}

TEST_CASE("nearest means near in each dimension, not of equal product", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 64 4096 1024", toy(16), 9),  // the same product of M, N, K
                   entry("f16f32 NN 1024 1024 1024", toy(128), 20)};
  CHECK(given.choose("f16f32 NN 512 512 1024").config == toy(128));
}

TEST_CASE("a neighbour whose config is illegal here or refuses the problem is passed over", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 513 513 513", toy(64, 1), 9), entry("f16f32 NN 1024 1024 1024", toy(64, 0), 20)};
  CHECK(given.choose("f16f32 NN 515 515 515").config == toy(64, 0));  // wide refuses odd rows
  given.entries = {entry("f16f32 NN 512 512 512", toy(192, 0), 9), entry("f16f32 NN 4096 4096 4096", toy(64, 0), 20)};
  given.arch = "sm_86";  // 99 KB
  CHECK(given.choose("f16f32 NN 520 512 512").config == toy(64, 0));
}

TEST_CASE("a neighbour's config that another does better on the problem is passed over", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 511 511 511", toy(64, 2), 9), entry("f16f32 NN 1024 1024 1024", toy(64, 1), 20)};
  CHECK(given.choose("f16f32 NN 512 512 512").config == toy(64, 1));  // packs, and there is nothing to pack
  CHECK(given.choose("f16f32 NN 513 513 513").config == toy(64, 2));
}

TEST_CASE("the next best config of the nearest problem is taken when its best does not run here", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64, 1), 9), entry("f16f32 NN 512 512 512", toy(16, 0), 12)};
  const Choice choice = given.choose("f16f32 NN 511 511 511");
  CHECK(choice.rung == Rung::neighbour);
  CHECK(choice.config == toy(16, 0));
}

TEST_CASE("a tile much larger than the problem loses to a farther neighbour that fits", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 1024 1024 1024", toy(192), 12),  // 36 blocks there, 2 here
                   entry("f16f32 NN 64 64 1024", toy(16), 12)};      // 16 blocks there, 64 here
  const Choice choice = given.choose("f16f32 NN 128 256 1024");
  CHECK(choice.config == toy(16));
  REQUIRE(choice.runners_up.size() == 1);
  CHECK(choice.runners_up[0].config == toy(192));
}

TEST_CASE("misfit counts halvings of the use of the device", "[choose]") {
  Given given;
  const Family& family = *find_family("choose_toy");
  const Problem big = problem("f16f32 NN 4096 4096 512");
  CHECK(misfit(family, toy(128), {big, 132}, {big, 132}) == 0);
  // 1024 blocks on 128 multiprocessors are 8 full waves; a quarter of the columns 2 of them.
  CHECK(misfit(family, toy(128), {big, 128}, {problem("f16f32 NN 4096 1024 512"), 128}) == Approx(0).margin(1e-9));
  // 32 blocks take a wave for themselves: a quarter of it is used.
  CHECK(misfit(family, toy(128), {big, 128}, {problem("f16f32 NN 4096 128 512"), 128}) == Approx(2));
  CHECK(misfit(family, toy(128), {problem("f16f32 NN 4096 128 512"), 128}, {big, 128}) == 0);
  // 1024 blocks fill a smaller device as well, 32 a larger one half as well.
  CHECK(misfit(family, toy(128), {big, 128}, {big, 64}) == Approx(0).margin(1e-9));
  CHECK(misfit(family, toy(128), {problem("f16f32 NN 4096 128 512"), 32}, {problem("f16f32 NN 4096 128 512"), 64}) == Approx(1));
}

TEST_CASE("distance is zero for the same problem and grows with each difference", "[choose]") {
  const Problem base = problem("f16f32 NN 512 512 512");
  CHECK(distance(base, base) == 0);
  CHECK(distance(base, problem("f16f32 NN 1024 512 512")) == Approx(1));
  CHECK(distance(base, problem("f16f32 NN 256 512 512")) == Approx(1));
  CHECK(distance(base, problem("f16f32 NN 1024 1024 512")) == Approx(std::sqrt(2.0)));
  CHECK(distance(base, problem("f16f32 NN 512 512 512 lda=514")) > 0.9);
  CHECK(distance(base, problem("f16f32 NN 512 512 512 beta=any")) < 0.1);
}

TEST_CASE("distance leaves types and transposes out, and sees rows as each type stores them", "[choose]") {
  const Problem base = problem("f16f32 NN 512 512 512");
  CHECK(distance(base, problem("bf16f32 TT 512 512 512")) == 0);
  // The rows of A and B, 514 elements, start at multiples of 4 bytes in f16 and of 8 in tf32; those of C are f32 in both.
  CHECK(distance(problem("f16f32 NN 514 514 514"), problem("tf32f32 NN 514 514 514")) == Approx(1));
}

TEST_CASE("retired evidence is passed over and counted in the reason", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 9)};
  given.entries[0].producer.template_hash = "an older one";
  const Choice choice = given.choose("f16f32 NN 512 512 512");
  CHECK(choice.rung == Rung::generic);
  CHECK(choice.reason.find("1 retired") != std::string::npos);
}

TEST_CASE("evidence to be re-verified is used only where none is valid, and says so", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 5), entry("f16f32 NN 512 512 512", toy(128), 9)};
  given.entries[0].producer.driver_version = "570.1";
  CHECK(given.choose("f16f32 NN 512 512 512").config == toy(128));
  given.entries.pop_back();
  const Choice choice = given.choose("f16f32 NN 512 512 512");
  CHECK(choice.rung == Rung::exact);
  CHECK(choice.config == toy(64));
  CHECK(choice.trust == db::Trust::reverify);
  CHECK(choice.reason.find("verify") != std::string::npos);
}

TEST_CASE("times of a former measuring policy decide where there are none of today's, and only among themselves", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 5), entry("f16f32 NN 512 512 512", toy(128), 9),
                   entry("f16f32 NN 512 512 512", toy(192), 1)};
  for (db::Evidence& one : given.entries) one.producer.measuring_policy = "former";
  given.entries[0].created_at = given.entries[1].created_at = "2026-03-01T00:00:00.000Z";
  given.entries[2].created_at = "2026-01-01T00:00:00.000Z";
  given.entries[2].producer.measuring_policy = "first";
  const Choice former = given.choose("f16f32 NN 512 512 512");
  CHECK(former.rung == Rung::exact);
  CHECK(former.config == toy(64));  // the faster of the latest policy's
  CHECK(former.trust == db::Trust::remeasure);
  CHECK(former.reason.find("measuring policy former") != std::string::npos);
  CHECK(former.runners_up.size() == 1);

  given.entries[1].producer.measuring_policy = producer("choose_toy").measuring_policy;
  const Choice today = given.choose("f16f32 NN 512 512 512");
  CHECK(today.config == toy(128));  // slower than what no longer compares
  CHECK(today.trust == db::Trust::valid);
  CHECK(today.runners_up.empty());
}

TEST_CASE("a candidate that failed later is no longer chosen", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 5), entry("f16f32 NN 512 512 512", toy(128), 9),
                   entry("f16f32 NN 512 512 512", toy(64), 5)};
  given.entries[2].created_at = "2026-02-01T00:00:00.000Z";
  given.entries[2].outcome = {db::Status::mismatch, "C[0,0] is 1, expected 2", std::nullopt};
  CHECK(given.choose("f16f32 NN 512 512 512").config == toy(128));
}

TEST_CASE("failures, times that are no numbers and unknown families are never chosen", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 5), entry("f16f32 NN 512 512 512", toy(128), 0),
                   entry("f16f32 NN 512 512 512", Config("no_such_family", {}), 1)};
  given.entries[0].outcome.timing->median_us = std::nan("");
  CHECK(given.choose("f16f32 NN 512 512 512").rung == Rung::generic);
}

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
      given.entries.push_back(entry(fmt::format("f16f32 NN 512 512 {}", 512 * k), toy(64), k));
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

TEST_CASE("with M, N or K of 0 there is nothing to choose", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 5)};
  for (const char* empty : {"f16f32 NN 0 512 512", "f16f32 NN 512 0 512", "f16f32 NN 512 512 0"}) {
    const Choice choice = given.choose(empty);
    CHECK(choice.rung == Rung::generic);
    CHECK(choice.reason.find("nothing to multiply") != std::string::npos);
  }
}

TEST_CASE("at most five runners-up are listed, next best first", "[choose]") {
  Given given;
  for (int k = 1; k <= 9; ++k)
    given.entries.push_back(entry(fmt::format("f16f32 NN 512 512 {}", 512 * k), toy(64), 5 * k));
  const Choice choice = given.choose("f16f32 NN 512 512 504");
  CHECK(choice.runners_up.size() == 4);  // five nearest problems, the first of them chosen
  CHECK(choice.runners_up[0].median_us == 10);
  given.entries.clear();
  for (int tile : {16, 64, 128, 192}) {
    for (int wide : {0, 1}) given.entries.push_back(entry("f16f32 NN 512 512 512", toy(tile, wide), 5 + tile + wide));
  }
  const Choice exact = given.choose("f16f32 NN 512 512 512");
  CHECK(exact.config == toy(16, 0));
  REQUIRE(exact.runners_up.size() == 5);
  CHECK(exact.runners_up[0].config == toy(16, 1));
}
