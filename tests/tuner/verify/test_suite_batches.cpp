// Suites of strided batches.
#include <algorithm>
#include <set>
#include <string>

#include "tests/catch.hpp"
#include "tests/tuner/verify/host_kernel.hpp"
#include "tuner/verify/problem_state.hpp"
#include "tuner/verify/suite_cases.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

KernelSignature strided(const char* type, Transposes trans) {
  return {*find_type_pair(type), trans, {}, BatchMode::strided};
}

}  // namespace

TEST_CASE(
    "the suite of batches is well formed and has the counts and layouts it locks, also aligned, for every type pair") {
  for (const TypePair& type : type_pairs()) {
    for (const Transposes trans : kAllTransposes) {
      std::set<std::int64_t> counts, aligned_counts;
      std::set<std::string> layouts;
      for (const SuiteCase& of : suite_cases({type, trans, {}, BatchMode::strided})) {
        const Problem& p = of.problem;
        std::string error;
        INFO(text(of));
        CHECK_FALSE(problem_error(p));
        const auto read = parse_problem(text(p), error);
        REQUIRE(read);
        CHECK(*read == canonical(p));
        counts.insert(p.batch);
        if (std::min({a_align_bytes(p), b_align_bytes(p), c_align_bytes(p)}) < 16) continue;
        aligned_counts.insert(p.batch);
        if (p.batch < 2) continue;
        if (p.stride_a == 0) layouts.insert("A is shared");
        if (p.stride_b == 0) layouts.insert("B is shared");
        if (p.stride_c > p.m * p.ldc) layouts.insert("gaps");
        if (p.stride_c == p.m * p.ldc) layouts.insert("packed");
        if (p.m > 1 && p.stride_c < p.ldc) layouts.insert("side by side");
      }
      INFO(type.name << " " << name(trans));
      CHECK(counts == std::set<std::int64_t>{1, 2, 3, 5, 65543});
      CHECK(aligned_counts == counts);
      CHECK(layouts.size() == 5);
    }
  }
}

TEST_CASE("a right kernel passes the suite of batches, and the usual bugs of batches are found") {
  struct Planted {
    HostBug bug;
    const char* says;  ///< nullptr: it is right
  };
  const Planted planted[] = {
      {HostBug::none, nullptr},
      {HostBug::ignores_stride_a, "expected"},
      {HostBug::ignores_stride_c, "expected"},
      {HostBug::moves_shared_b, "expected"},
      {HostBug::skips_last_entry, "expected"},
      {HostBug::writes_entry_behind, "outside C"},
      {HostBug::shares_scaled_c, "expected"},
      {HostBug::drops_k_tail, "expected"},
      {HostBug::writes_past_row, "C"},
  };
  const SuiteImage image = make_suite_image(strided("u8s32", {true, true}));
  for (const Planted& one : planted) {
    const auto fault = host_suite(image, one.bug);
    INFO("bug " << int(one.bug) << ": " << fault.value_or("nothing found"));
    CHECK(fault.has_value() == (one.says != nullptr));
    if (fault && one.says != nullptr) CHECK(fault->find(one.says) != std::string::npos);
  }
}

TEST_CASE("elements of a batch have numbers one after the other, apart and side by side, and all else has none") {
  for (const auto& [row_stride, entry_stride] :
      {std::pair{3LL, 6LL}, std::pair{4LL, 11LL}, std::pair{9LL, 3LL}, std::pair{11LL, 4LL}}) {
    std::set<long long> found;
    for (long long at = 0; at < 60; ++at) {
      const long long index = verify::stored_index(at, 2, 3, row_stride, 2, entry_stride);
      if (index < 0) continue;
      CHECK(found.insert(index).second);
      CHECK(verify::stored_at(index, 2, 3, row_stride, entry_stride) == at);
    }
    INFO(row_stride << " " << entry_stride);
    CHECK(found.size() == 12);
    CHECK(*found.rbegin() == 11);
  }
}

TEST_CASE("all entries of a batch are proven where that is quick, else the first, the last and random ones") {
  const Problem small = batched(packed_problem({*find_type_pair("f16f32"), {}}, 64, 64, 64), 256);
  CHECK(sampled_entries(small, 1).size() == 256);
  CHECK(sampled_entries(batched(small, 1), 1) == std::vector<std::int64_t>{0});
  const auto many = sampled_entries(batched(small, 100000), 1);
  CHECK(many.size() == 256);
  CHECK(many.front() == 0);
  CHECK(many.back() == 99999);
  CHECK(std::ranges::is_sorted(many));
  const Problem large = batched(packed_problem(small, 4096, 4096, 4096), 64);
  CHECK(sampled_entries(large, 1).size() == 3);
  CHECK(sampled_entries(batched(large, 2), 1) == std::vector<std::int64_t>{0, 1});
}
