#include <fmt/format.h>

#include <algorithm>

#include "db/store/trust.hpp"
#include "runtime/choose/neighbour.hpp"
#include "runtime/choose/time_model.hpp"
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
  CHECK(choice.level == Level::exact);
  CHECK(choice.config == toy(128));
  REQUIRE(choice.record);
  CHECK(choice.record->outcome.timing->median_us == 7);
  CHECK(choice.trust == db::Trust::valid);
  CHECK(choice.reason.find("7.00 us") != std::string::npos);
  REQUIRE(choice.runners_up.size() == 3);
  CHECK(choice.runners_up[0].config == toy(192, 0));
  CHECK(choice.runners_up[1].config == toy(64));
  CHECK(choice.runners_up[2].level == Level::model);
  CHECK(choice.runners_up[2].config == toy(16));
}

TEST_CASE("equal times go to the smaller config text, whatever the order of the entries", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 7), entry("f16f32 NN 512 512 512", toy(128), 7)};
  CHECK(given.choose("f16f32 NN 512 512 512").config == toy(128));
  std::swap(given.entries[0], given.entries[1]);
  CHECK(given.choose("f16f32 NN 512 512 512").config == toy(128));
}

TEST_CASE("other type pairs of elements as large, and other transposes, tell of a problem; others do not", "[choose]") {
  Given given;
  for (const char* other : {"bf16f32 NN 512 512 512", "f16f32 NT 512 512 512"}) {
    given.entries = {entry(other, toy(64), 9)};
    const Choice choice = given.choose("f16f32 NN 512 512 512");
    CHECK(choice.level == Level::model);
    CHECK(choice.config == toy(64));
  }
  for (const char* other : {"tf32f32 NN 512 512 512", "s8s32 NN 512 512 512"}) {
    given.entries = {entry(other, toy(64), 9)};
    CHECK(given.choose("f16f32 NN 512 512 512").level == Level::generic);
  }
}

TEST_CASE("other leading dimensions, alignment or beta class are predicted for, not an exact entry", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 9)};
  for (const char* other : {"lda=520", "align=8", "beta=any"}) {
    INFO(other);
    given.entries[0].config = toy(64, 0);
    CHECK(given.choose(fmt::format("f16f32 NN 512 512 512 {}", other)).level == Level::model);
  }
}

TEST_CASE(
    "what was fastest without the epilogue comes first with it, before what the model promises more of", "[choose]") {
  Given given;
  // By other shapes tiles of 192 promise the most; on the problem itself 64 was faster than 128.
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 9), entry("f16f32 NN 512 512 512", toy(128), 10),
      entry("f16f32 NN 576 576 512", toy(192), 1)};
  const Choice choice = given.choose("f16f32 NN 512 512 512 epilogue=bias_n+relu");
  CHECK(choice.level == Level::model);
  CHECK(choice.config == toy(64));
  CHECK(choice.reason.find("the fastest for its sister f16f32 NN 512 512 512") != std::string::npos);
  REQUIRE_FALSE(choice.runners_up.empty());
  CHECK(choice.runners_up[0].config == toy(192));
  // With β, too: where only β = 0 was measured, that counts.
  CHECK(given.choose("f16f32 NN 512 512 512 beta=any epilogue=c_apart").config == toy(64));
  CHECK(given.choose("f16f32 NN 512 512 512 epilogue=swiglu").reason.find("its sister") !=
        std::string::npos);  // whose D is half as wide
  // Its own records count more.
  given.entries.push_back(entry("f16f32 NN 512 512 512 epilogue=bias_n+relu", toy(128), 10));
  const Choice measured = given.choose("f16f32 NN 512 512 512 epilogue=bias_n+relu");
  CHECK(measured.level == Level::exact);
  CHECK(measured.config == toy(128));
  // Other shapes have no sister.
  CHECK(given.choose("f16f32 NN 520 512 512 epilogue=relu").reason.find("sister") == std::string::npos);
}

TEST_CASE(
    "what was fastest with the host's scalars comes first with those in device memory, before what was without the epilogue",
    "[choose][scalars]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 9), entry("f16f32 NN 512 512 512", toy(128), 10),
      entry("f16f32 NN 576 576 512", toy(192), 1)};
  const Choice choice = given.choose("f16f32 NN 512 512 512 scalars=device");
  CHECK(choice.level == Level::model);
  CHECK(choice.config == toy(64));
  CHECK(choice.reason.find("its sister f16f32 NN 512 512 512") != std::string::npos);
  CHECK(given.choose("f16f32 NN 512 512 512 beta=any scalars=device").config == toy(64));
  // An epilogue's own records are nearer than those without one.
  given.entries.push_back(entry("f16f32 NN 512 512 512 epilogue=relu", toy(128), 11));
  CHECK(given.choose("f16f32 NN 512 512 512 epilogue=relu scalars=device").config == toy(128));
  CHECK(given.choose("f16f32 NN 512 512 512 epilogue=silu scalars=device").config == toy(64));
  given.entries.push_back(entry("f16f32 NN 512 512 512 scalars=device", toy(192), 12));
  CHECK(given.choose("f16f32 NN 512 512 512 scalars=device").level == Level::exact);
  // Those in device memory say nothing exact of the host's.
  given.entries = {entry("f16f32 NN 512 512 512 scalars=device", toy(192), 12)};
  CHECK(given.choose("f16f32 NN 512 512 512").level != Level::exact);
}

TEST_CASE("what is predicted is the estimate, corrected by what was measured of that very config", "[choose]") {
  Given given;
  // The estimate has tiles of 64 and of 128 alike for 8 times as many products; measured, the larger one takes a third.
  given.entries = {entry("f16f32 NN 4096 4096 1024", toy(64), 3000), entry("f16f32 NN 4096 4096 1024", toy(128), 1000)};
  const Choice choice = given.choose("f16f32 NN 4096 4096 2048");
  CHECK(choice.level == Level::model);
  CHECK(choice.config == toy(128));
  CHECK(choice.predicted_us == Approx(2000).epsilon(0.05));
  REQUIRE(choice.record);
  CHECK(choice.record->task.problem() == problem("f16f32 NN 4096 4096 1024"));
  CHECK(choice.reason.find("1000.00 us for f16f32 NN 4096 4096 1024") != std::string::npos);
  CHECK(choice.reason.find("1.00 doublings away") != std::string::npos);
  CHECK(choice.runners_up.empty());  // 64 was three times as slow there: no candidate
}

TEST_CASE("nearer measurements weigh more", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 4096 4096 4096", toy(64), 100), entry("f16f32 NN 4096 4096 4096", toy(128), 99),
      entry("f16f32 NN 512 512 512", toy(64), 30), entry("f16f32 NN 512 512 512", toy(128), 38)};
  CHECK(given.choose("f16f32 NN 4096 4096 4000").config == toy(128));
  CHECK(given.choose("f16f32 NN 512 512 520").config == toy(64));
}

TEST_CASE("what failed last on a problem is not predicted for it, and a wrong kernel for none", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 1024 512 512", toy(64, 1), 9), entry("f16f32 NN 1024 512 512", toy(64, 0), 10),
      entry("f16f32 NN 512 512 512", toy(64, 1), 1)};
  given.entries[2].outcome = {db::Status::timed_out, "did not end", std::nullopt};
  CHECK(given.choose("f16f32 NN 512 512 512").config == toy(64, 0));
  CHECK(given.choose("f16f32 NN 512 512 520").config == toy(64, 1));
  given.entries[2].outcome = {db::Status::mismatch, "C[0,0] is 1, expected 2", std::nullopt};
  CHECK(given.choose("f16f32 NN 512 512 520").config == toy(64, 0));
}

TEST_CASE("a config that is illegal here or refuses the problem is no candidate", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 513 513 513", toy(64, 1), 9), entry("f16f32 NN 1024 1024 1024", toy(64, 0), 20)};
  CHECK(given.choose("f16f32 NN 515 515 515").config == toy(64, 0));  // wide refuses odd rows
  given.entries = {entry("f16f32 NN 512 512 512", toy(192, 0), 9), entry("f16f32 NN 4096 4096 4096", toy(64, 0), 20)};
  given.arch = "sm_86";  // 99 KB
  CHECK(given.choose("f16f32 NN 520 512 512").config == toy(64, 0));
}

TEST_CASE("what is dominated is chosen where nothing else was measured", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 511 511 511", toy(64, 2), 9)};
  CHECK(given.choose("f16f32 NN 512 512 512").config == toy(64, 2));  // packs, and there is nothing to pack
}

TEST_CASE("the next best config of the nearest problem is taken when its best does not run here", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64, 1), 9), entry("f16f32 NN 512 512 512", toy(16, 0), 10)};
  const Choice choice = given.choose("f16f32 NN 511 511 511");
  CHECK(choice.level == Level::model);
  CHECK(choice.config == toy(16, 0));
}

TEST_CASE("a tile much larger than the problem loses to one that was best further away", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 4096 4096 1024", toy(192), 100), entry("f16f32 NN 64 64 1024", toy(16), 5)};
  CHECK(given.choose("f16f32 NN 32 64 1024").config == toy(16));
}

TEST_CASE("distance is zero for the same problem and grows with each difference", "[choose]") {
  const Problem base = problem("f16f32 NN 512 512 512");
  CHECK(distance(base, base) == 0);
  CHECK(distance(base, problem("f16f32 NN 1024 512 512")) == Approx(1));
  CHECK(distance(base, problem("f16f32 NN 256 512 512")) == Approx(1));
  CHECK(distance(base, problem("f16f32 NN 1024 1024 512")) == Approx(std::sqrt(2.0)));
  CHECK(distance(base, problem("f16f32 NN 512 512 512 lda=514")) > 0.9);
  CHECK(distance(base, problem("f16f32 NN 512 512 512 beta=any")) < 0.1);
  CHECK(distance(base, problem("f16f32 NN 512 512 512 epilogue=relu")) == Approx(0.1));
  CHECK(distance(base, problem("f16f32 NN 512 512 512 batch=4 batch_mode=strided")) >= 2);
}

TEST_CASE("distance leaves types and transposes out, and sees rows as each type stores them", "[choose]") {
  const Problem base = problem("f16f32 NN 512 512 512");
  CHECK(distance(base, problem("bf16f32 TT 512 512 512")) == 0);
  // The rows of A and B, 514 elements, start at multiples of 4 bytes in f16 and of 8 in tf32; those of C are f32 in
  // both.
  CHECK(distance(problem("f16f32 NN 514 514 514"), problem("tf32f32 NN 514 514 514")) == Approx(1));
}

TEST_CASE("retired records are never exact, and tells of times all the same", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 9), entry("f16f32 NN 512 512 512", toy(128), 30)};
  for (db::Record& one : given.entries) one.plan_hash = "an older one";
  const Choice choice = given.choose("f16f32 NN 512 512 512");
  CHECK(choice.level == Level::model);
  CHECK(choice.config == toy(64));
}

TEST_CASE("records to be re-verified is used only where none is valid, and says so", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 5), entry("f16f32 NN 512 512 512", toy(128), 9)};
  given.entries[0].environment.driver_version = "570.1";
  CHECK(given.choose("f16f32 NN 512 512 512").config == toy(128));
  given.entries.pop_back();
  const Choice choice = given.choose("f16f32 NN 512 512 512");
  CHECK(choice.level == Level::exact);
  CHECK(choice.config == toy(64));
  CHECK(choice.trust == db::Trust::reverify);
  CHECK(reason_of(choice).find("verify") != std::string::npos);
}

TEST_CASE("times of a former measuring policy decide where there are none of today's, and only among themselves",
    "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 5), entry("f16f32 NN 512 512 512", toy(128), 9),
      entry("f16f32 NN 512 512 512", toy(192), 1)};
  for (db::Record& one : given.entries) one.environment.measuring_policy = "former";
  given.entries[0].created_at = given.entries[1].created_at = "2026-03-01T00:00:00.000Z";
  given.entries[2].created_at = "2026-01-01T00:00:00.000Z";
  given.entries[2].environment.measuring_policy = "first";
  const Choice former = given.choose("f16f32 NN 512 512 512");
  CHECK(former.level == Level::exact);
  CHECK(former.config == toy(64));  // the faster of the latest policy's
  CHECK(former.trust == db::Trust::remeasure);
  CHECK(reason_of(former).find("measuring policy former") != std::string::npos);
  CHECK(former.runners_up.size() == 1);

  given.entries[1].environment.measuring_policy = environment("choose_toy").measuring_policy;
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
  CHECK(given.choose("f16f32 NN 512 512 512").level == Level::generic);
}

TEST_CASE("with M, N or K of 0 there is nothing to choose", "[choose]") {
  Given given;
  given.entries = {entry("f16f32 NN 512 512 512", toy(64), 5)};
  for (const char* empty : {"f16f32 NN 0 512 512", "f16f32 NN 512 0 512", "f16f32 NN 512 512 0"}) {
    const Choice choice = given.choose(empty);
    CHECK(choice.level == Level::generic);
    CHECK(choice.reason.find("nothing to multiply") != std::string::npos);
  }
}

TEST_CASE("at most five runners-up are listed, next best first", "[choose]") {
  Given given;
  for (int tile : {16, 64, 128, 192}) {
    for (int wide : {0, 1})
      given.entries.push_back(entry("f16f32 NN 512 512 512", toy(tile, wide), 50 + tile / 100.0 + wide / 10.0));
  }
  const Choice exact = given.choose("f16f32 NN 512 512 512");
  CHECK(exact.config == toy(16, 0));
  REQUIRE(exact.runners_up.size() == 5);
  CHECK(exact.runners_up[0].config == toy(16, 1));
  const Choice model = given.choose("f16f32 NN 512 512 504");
  REQUIRE(model.runners_up.size() == 5);
  for (std::size_t i = 1; i < 5; ++i)
    CHECK(model.runners_up[i - 1].us <= 1.11 * model.runners_up[i].us);  // a doubtful one comes later
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
  }
}

TEST_CASE("without any records the families' own configs are chosen, by their estimates", "[choose]") {
  for (const char* arch : {"sm_87", "sm_90a"}) {
    for (const char* where : {"f16f32 NN 512 512 512", "bf16f32bf16 TN 513 77 129", "tf32f32 NT 1 300 4096",
             "s8s32 TT 1025 1 333", "f16f16 NT 4096 4096 4095", "f64f64 NN 64 64 64"}) {
      INFO(arch << " " << where);
      const Problem wanted = problem(where);
      const KernelTarget target{wanted, *limits_for_arch(arch)};
      const Choice choice = runtime::choose({}, wanted, target, environment);
      CHECK(choice.level == Level::model);
      CHECK(choice.config.family() != "simt");
      CHECK(choice.config.family() != "wmma");
      CHECK(choice.predicted_us > 0);
      CHECK(choice.runners_up.size() == 5);
    }
  }
  // On an Orin nothing but simt multiplies 8-bit floats.
  const Problem wanted = problem("e4m3f32 NN 64 64 64");
  const Choice choice = runtime::choose({}, wanted, {wanted, *limits_for_arch("sm_87")}, environment);
  CHECK(choice.level == Level::generic);
}

TEST_CASE("a choice is the same whatever the order of the entries", "[choose]") {
  Given given;
  for (int k = 1; k <= 9; ++k)
    given.entries.push_back(entry(fmt::format("f16f32 NN 512 512 {}", 512 * k), nth_toy(k), 5 * k));
  const Choice one = given.choose("f16f32 NN 700 512 504");
  std::reverse(given.entries.begin(), given.entries.end());
  const Choice other = given.choose("f16f32 NN 700 512 504");
  CHECK(one.config == other.config);
  CHECK(one.predicted_us == other.predicted_us);
}
