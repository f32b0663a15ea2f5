#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "db/files/compress.hpp"
#include "runtime/driver/device.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/verify/host_kernel.hpp"
#include "tuner/verify/suite_cases.hpp"
#include "tuner/verify/suite_runner.hpp"
#include "tuner/verify/verifier.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

const TypePair& pair(const char* name) { return *find_type_pair(name); }

/// Images cost a fraction of a second each; the tests share them.
const SuiteImage& image_of(const char* type, Transposes trans) {
  static std::vector<std::tuple<std::string, Transposes, std::unique_ptr<SuiteImage>>> made;
  for (const auto& [made_type, made_trans, image] : made) {
    if (made_type == type && made_trans == trans) return *image;
  }
  made.emplace_back(type, trans, std::make_unique<SuiteImage>(make_suite_image({pair(type), trans})));
  return *std::get<2>(made.back());
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the suite's problems are well formed, for every type pair and transposes") {
  for (const TypePair& type : type_pairs()) {
    for (Transposes trans : kAllTransposes) {
      for (const SuiteCase& of : suite_cases({type, trans})) {
        INFO(text(of));
        CHECK_FALSE(problem_error(of.problem));
        CHECK(of.problem.type == type);
        CHECK(of.problem.trans == trans);
        CHECK(stage_applies(of.problem, of.stage));
        CHECK((of.scales.beta == 0 || of.problem.beta == BetaClass::any));
      }
    }
  }
}

TEST_CASE(
    "exact cases of several tiles come on one SM and on all, with beta declared to be 0 and not, for every type pair") {
  for (const TypePair& type : type_pairs()) {
    std::set<std::pair<bool, bool>> seen;
    for (const SuiteCase& of : suite_cases({type, {false, false}})) {
      CHECK(of.on_one_sm == contains(text(of), "as on one SM"));
      if (of.stage == Stage::exact && of.problem.m * of.problem.n > 128 * 128)
        seen.insert({of.on_one_sm, of.problem.beta == BetaClass::zero});
    }
    INFO(type.name);
    CHECK(seen.size() == 4);
  }
}

TEST_CASE("the suite has every dimension it locks, also with rows that only aligned kernels take") {
  for (const char* type : {"f16f32", "bf16f32bf16", "s8s32", "f64f64"}) {
    std::set<std::int64_t> ms, ns, ks;
    std::set<std::pair<int, int>> scales;
    int unaligned = 0, declared_zero = 0, met_zero = 0;
    for (const SuiteCase& of : suite_cases({pair(type), {true, false}})) {
      const Problem& p = of.problem;
      const int rows_aligned = std::min({row_align_bytes(p, p.type.a, p.lda), row_align_bytes(p, p.type.a, p.ldb),
          row_align_bytes(p, p.type.output, p.ldc)});
      unaligned += rows_aligned < 16;
      if (rows_aligned < 16) continue;
      ms.insert(p.m);
      ns.insert(p.n);
      ks.insert(p.k);
      const auto class_of = [](double value) { return value == 0 ? 0 : value == 1 ? 1 : 2; };
      scales.insert({class_of(of.scales.alpha), class_of(of.scales.beta)});
      declared_zero += of.scales.beta == 0 && p.beta == BetaClass::zero;
      met_zero += of.scales.beta == 0 && p.beta == BetaClass::any;
    }
    INFO(type);
    for (int tile : {16, 32, 64, 128, 256}) {
      for (int off : {-1, 1}) {
        INFO("tile " << tile << " off by " << off);
        CHECK((ms.count(tile + off) == 1 || ns.count(tile + off) == 1));
      }
    }
    for (int m : {1, 7, 13, 17, 31, 33, 63, 65, 97, 127, 129, 255, 257, 300}) CHECK(ms.count(m) == 1);
    for (int n : {1, 13, 17, 31, 33, 63, 65, 97, 127, 129, 255, 257, 261}) CHECK(ns.count(n) == 1);
    for (int k : {0, 1, 2, 15, 16, 17, 31, 33, 64, 65, 129, 200, 197, 521}) CHECK(ks.count(k) == 1);
    CHECK(scales.size() == 9);
    CHECK(declared_zero > 0);
    CHECK(met_zero > 0);
    CHECK(unaligned >= 10);
  }
}

TEST_CASE("the suite's version stands for its cases") {
  // Where they change, kernels have to be proven anew: give kSuiteVersion a new number, and this its hash.
  std::string all, of_packed;  // elements
  for (const TypePair& type : type_pairs()) {
    for (const Transposes trans : kAllTransposes) {
      for (const SuiteCase& one : suite_cases({type, trans}))
        (size_bits(type.a) < 8 ? of_packed : all) += text(one) + "\n";
    }
  }
  CHECK(std::string(kSuiteVersion) == "suite-2");
  CHECK(db::content_hash(std::as_bytes(std::span(all))) == "c19817bf87509ca30af359256282cb12");
  CHECK(db::content_hash(std::as_bytes(std::span(of_packed))) == "b2277c34e3ba819769a910712184db1d");
}

TEST_CASE("a base pointer is aligned as the problem promises and no further") {
  for (int align : {1, 2, 4, 8, 16}) {
    const Zone zone = make_zone(1000, Scalar::s8, align);
    CHECK(zone.first_byte % std::size_t(align) == 0);
    CHECK(zone.first_byte % std::size_t(2 * align) != 0);
    CHECK(zone.bytes % 256 == 0);
    CHECK(zone.bytes >= zone.first_byte + 1000 + 2048);
  }
  CHECK(make_zone(8, Scalar::f64, 2).first_byte % 8 == 0);  // never less than an element
}

TEST_CASE("a right kernel that rounds at every step passes, on exact and on real data") {
  for (const auto& [type, trans] : {std::pair{"f16f16", Transposes{true, false}},
           std::pair{"bf16f32", Transposes{false, true}}, std::pair{"f16f32f16", Transposes{false, true}},
           std::pair{"bf16f32bf16", Transposes{true, false}}, std::pair{"tf32f32", Transposes{false, false}},
           std::pair{"f32f32", Transposes{false, true}}, std::pair{"u8s32", Transposes{true, true}},
           std::pair{"s4s32", Transposes{false, true}}, std::pair{"u4s32", Transposes{true, false}},
           std::pair{"b1s32", Transposes{false, true}}, std::pair{"b1xors32", Transposes{false, false}}}) {
    const auto fault = host_suite(image_of(type, trans), HostBug::none);
    INFO(type << ": " << fault.value_or(""));
    CHECK_FALSE(fault);
  }
}

TEST_CASE("the usual kernel bugs are found, and the message names case, element and values") {
  struct Planted {
    HostBug bug;
    const char* type;
    const char* says;
  };
  const Planted planted[] = {
      {HostBug::drops_last_k, "tf32f32", "expected"},
      {HostBug::drops_k_tail, "u8s32", "expected"},
      {HostBug::ignores_alpha, "u8s32", "expected"},
      {HostBug::ignores_beta, "tf32f32", "expected"},
      {HostBug::reads_c_at_beta_0, "tf32f32", "is nan"},
      {HostBug::ignores_trans, "tf32f32", "expected"},
      {HostBug::swaps_leading_dims, "u8s32", "expected"},
      {HostBug::reads_past_k, "tf32f32", "is nan"},
      {HostBug::reads_past_k, "u8s32", "expected"},
      {HostBug::skips_last_row, "u8s32", "expected"},
      {HostBug::writes_past_row, "tf32f32", "outside C"},
      {HostBug::writes_before_c, "u8s32", "before C"},
      {HostBug::leaves_nan, "tf32f32", "is nan"},
      {HostBug::truncates_tf32, "tf32f32", "wider than tf32"},
      {HostBug::truncates_tf32, "f32f32", "wider than tf32"},
      {HostBug::truncates_tf32, "f32x3f32", "wider than tf32"},
      {HostBug::second_run_differs, "tf32f32", "a second run gave"},
      {HostBug::reads_at_alpha_0, "tf32f32", "is nan"},
      {HostBug::skips_last_row, "f16f16", "is nan"},
      {HostBug::drops_last_k, "f16f16", "expected"},
      {HostBug::sums_in_output, "f16f32f16", "C rounded"},
      {HostBug::sums_in_output, "bf16f32bf16", "C rounded"},
      {HostBug::rounds_before_beta, "f16f32f16", "C rounded"},
      {HostBug::rounds_before_beta, "bf16f32bf16", "C rounded"},
      {HostBug::truncates_c, "f16f32f16", "C rounded"},
      {HostBug::truncates_c, "bf16f32bf16", "C rounded"},
      {HostBug::rounds_ties_away, "f16f32f16", "C rounded"},
      {HostBug::rounds_ties_away, "bf16f32bf16", "C rounded"},
      {HostBug::drops_last_k, "f16f32f16", "expected"},
      {HostBug::drops_last_k, "bf16f32bf16", "expected"},
      {HostBug::reads_c_at_beta_0, "f16f32f16", "is nan"},
      {HostBug::reads_c_at_beta_0, "bf16f32bf16", "is nan"},
      {HostBug::leaves_nan, "bf16f32bf16", "is nan"},
      {HostBug::writes_past_row, "f16f32f16", "outside C"},
      {HostBug::second_run_differs, "bf16f32bf16", "a second run gave"},
      {HostBug::swaps_nibbles, "s4s32", "expected"},
      {HostBug::lacks_signs, "s4s32", "expected"},
      {HostBug::reads_signs, "u4s32", "expected"},
      {HostBug::reads_whole_bytes, "s4s32", "expected"},
      {HostBug::reads_whole_bytes, "u4s32", "expected"},
      {HostBug::reads_whole_bytes, "b1s32", "expected"},
      {HostBug::reads_whole_bytes, "b1xors32", "expected"},
      {HostBug::ands_bits, "b1xors32", "expected"},
      {HostBug::drops_last_k, "b1s32", "expected"},
      {HostBug::swaps_leading_dims, "u4s32", "expected"},
  };
  for (const Planted& p : planted) {
    // The transposes of the right kernels above, whose images are there.
    const std::string type = p.type;
    const Transposes trans = type == "u8s32"                                             ? Transposes{true, true}
                             : type == "f16f16" || type == "bf16f32bf16"                 ? Transposes{true, false}
                             : type == "u4s32"                                           ? Transposes{true, false}
                             : type == "f16f32f16" || type == "s4s32" || type == "b1s32" ? Transposes{false, true}
                                                                                         : Transposes{};
    const auto fault = host_suite(image_of(p.type, trans), p.bug);
    INFO(p.type << " bug " << int(p.bug) << ": " << fault.value_or("nothing found"));
    REQUIRE(fault);
    CHECK(contains(*fault, "suite: "));
    CHECK(contains(*fault, p.type));
    CHECK(contains(*fault, p.says));
    CHECK(contains(*fault, "α="));
    CHECK_FALSE(contains(*fault, "\n"));
  }
}

TEST_CASE("a config that declares itself non-deterministic may differ in bits, not in values") {
  CHECK_FALSE(host_suite(image_of("tf32f32", {}), HostBug::second_run_differs, false));
  CHECK(host_suite(image_of("tf32f32", {}), HostBug::leaves_nan, false));
}

TEST_CASE("no comparison lets NaN or infinity pass") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (double bound : {0.0, 1.0, 1e300, infinity, nan}) {
    CHECK(verify::element_wrong(nan, 1, bound, 0));
    CHECK(verify::element_wrong(nan, 0, 0, bound));
    CHECK(verify::element_wrong(1, nan, bound, bound));
    CHECK(verify::element_wrong(nan, nan, bound, bound));
  }
  CHECK(verify::element_wrong(infinity, 1, 1e300, 0));
  CHECK(verify::element_wrong(-infinity, 1, 1e300, 0));
  CHECK(verify::element_wrong(infinity, infinity, 1e300, 1));
  CHECK(verify::element_wrong(1, 1, nan, 0));
  CHECK_FALSE(verify::element_wrong(1, 1, 0, 0));
  CHECK_FALSE(verify::element_wrong(-0.0, 0.0, 0, 0));
  CHECK(verify::element_wrong(std::nextafter(1.0, 2.0), 1, 0, 0));
}

TEST_CASE("a NaN in either run is a fault, wherever the element is") {
  const verify::CaseRow row{0, 100, 10, 2, 3, 5, 0, 1e300, 1e300};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(verify::slot_fault(row, true, 1, 0, 0, 0, nan, 1, true) == verify::kFaultWrong);
  CHECK(verify::slot_fault(row, true, 1, 0, 0, 0, 1, nan, true) == verify::kFaultSecondRun);
  CHECK(verify::slot_fault(row, true, 1, 0, 5, 6, 1, 1, true) == verify::kFaultSecondRun);
  CHECK(verify::slot_fault(row, true, 1, 0, 5, 6, 1, 1, false) == verify::kFaultNone);
  CHECK(verify::slot_fault(row, false, 0, 9, 9, 8, nan, nan, false) == verify::kFaultOutside);
  CHECK(verify::slot_fault(row, false, 0, 9, 9, 9, nan, nan, true) == verify::kFaultNone);
}

TEST_CASE("slots of a zone are told apart: before C, inside, row padding, behind") {
  const verify::CaseRow row{0, 100, 10, 2, 3, 5, 0, 0, 0};
  CHECK(verify::element_index(row, 9) == -1);
  CHECK(verify::element_index(row, 10) == 0);
  CHECK(verify::element_index(row, 12) == 2);
  CHECK(verify::element_index(row, 13) == -1);
  CHECK(verify::element_index(row, 15) == 3);
  CHECK(verify::element_index(row, 17) == 5);
  CHECK(verify::element_index(row, 18) == -1);
  CHECK(verify::element_index(row, 20) == -1);
  CHECK(verify::element_index(row, 99) == -1);
}

TEST_CASE("sums of bytes that become f16 do not overflow it, however deep") {
  for (const char* type : {"u8s32f16", "s8s32f16"}) {
    for (const SuiteCase& of : suite_cases({pair(type), {}})) {
      INFO(text(of));
      const double k = double(of.problem.k);
      const double sum = of.problem.type.a == Scalar::u8
                             ? 127.5 * 127.5 * k
                             : 6 * 5461 * std::sqrt(k);  // the mean of u8, six deviations of s8
      CHECK(std::abs(of.scales.alpha) * sum < 65504);
    }
  }
}

TEST_CASE("a refused launch is the candidate's outcome, a misused plan is not") {
  CHECK_FALSE(launch_outcome(0, "suite"));
  const auto refused = launch_outcome(701, "suite: f16f32");  // too many resources requested
  REQUIRE(refused);
  CHECK(refused->status == db::Status::launch_failed);
  CHECK(contains(refused->message, "suite: f16f32"));
  CHECK_THROWS_AS(launch_outcome(-1, "suite"), std::logic_error);
  CHECK_THROWS_AS(launch_outcome(700, "suite"), runtime::DeviceError);  // illegal address: the context is lost
}
