#include <fmt/format.h>

#include "runtime/neighbour.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/choose_toy.hpp"

using namespace tilesmith;
using namespace tilesmith::runtime;
using namespace tilesmith::runtime::choosing;

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
  CHECK(reason_of(choice).find("verify") != std::string::npos);
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
  CHECK(reason_of(former).find("measuring policy former") != std::string::npos);
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
    given.entries.push_back(entry(fmt::format("f16f32 NN 512 512 {}", 512 * k), nth_toy(k), 5 * k));
  const Choice choice = given.choose("f16f32 NN 512 512 504");
  CHECK(choice.runners_up.size() == 4);  // five nearest problems, the first of them chosen
  CHECK(choice.runners_up.at(0).median_us == 10);
  given.entries.clear();
  for (int tile : {16, 64, 128, 192}) {
    for (int wide : {0, 1}) given.entries.push_back(entry("f16f32 NN 512 512 512", toy(tile, wide), 5 + tile + wide));
  }
  const Choice exact = given.choose("f16f32 NN 512 512 512");
  CHECK(exact.config == toy(16, 0));
  REQUIRE(exact.runners_up.size() == 5);
  CHECK(exact.runners_up[0].config == toy(16, 1));
}

TEST_CASE("runners-up name each config once, and not the chosen one", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 5), entry("f16f32 NN 512 512 1024", toy(64), 10),
                   entry("f16f32 NN 512 512 2048", toy(128), 20), entry("f16f32 NN 512 512 4096", toy(128), 40)};
  for (const char* measured_or_not : {"f16f32 NN 512 512 512", "f16f32 NN 512 512 504"}) {
    const Choice choice = given.choose(measured_or_not);
    CHECK(choice.config == toy(64));
    REQUIRE(choice.runners_up.size() == 1);
    CHECK(choice.runners_up[0].config == toy(128));
    CHECK(choice.runners_up[0].median_us == 20);  // the nearest's
  }
}
