// Suites of groups of rows.
#include <set>
#include <string>

#include "kernels/problem/group_ends.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/verify/host_kernel.hpp"
#include "tuner/verify/problem_state.hpp"
#include "tuner/verify/suite_cases.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

TEST_CASE("the suite of groups is well formed and has the ends it locks, for every type pair") {
  for (const TypePair& type : type_pairs()) {
    for (const bool b_transposed : {false, true}) {
      std::set<std::int64_t> counts;
      std::set<std::string> kinds;
      for (const SuiteCase& of : suite_cases({type, {false, b_transposed}, {}, BatchMode::grouped})) {
        const Problem& p = of.problem;
        std::string error;
        INFO(text(of));
        CHECK_FALSE(problem_error(p));
        const auto read = parse_problem(text(p), error);
        REQUIRE(read);
        CHECK(*read == canonical(p));
        REQUIRE(std::int64_t(of.ends.size()) == p.batch);
        counts.insert(p.batch);
        const bool wrong = are_wrong(of.ends, p.m);
        if (wrong && std::ranges::is_sorted(of.ends)) kinds.insert("behind M");
        if (wrong && !std::ranges::is_sorted(of.ends)) kinds.insert("decreasing");
        if (wrong || p.m < 16) continue;
        const std::vector<GroupRows> groups = rows_of_groups(of.ends, p.m);
        std::int64_t empty_within = 0, rows_of_largest = 0;
        for (std::size_t g = 0; g < groups.size(); ++g) {
          const std::int64_t rows = groups[g].end - groups[g].begin;
          rows_of_largest = std::max(rows_of_largest, rows);
          if (rows == 1) kinds.insert("one row");
          if (rows == 0 && g > 0 && g + 1 < groups.size()) ++empty_within;
        }
        if (groups.front().end == 0) kinds.insert("first empty");
        if (empty_within > 0) kinds.insert("empty within");
        if (groups.back().begin == groups.back().end && groups.back().end == p.m) kinds.insert("last empty");
        if (rows_of_largest == p.m) kinds.insert("all in one");
        if (groups.back().end < p.m) kinds.insert("rows behind");
      }
      INFO(type.name);
      CHECK(counts == std::set<std::int64_t>{3, 4, 5, 8, 130});
      CHECK(kinds.size() == 8);
    }
  }
}

TEST_CASE("a right kernel passes the suite of groups, and the usual bugs of groups are found") {
  const SuiteImage image = make_suite_image({*find_type_pair("u8s32"), {false, true}, {}, BatchMode::grouped});
  for (const auto& [bug, says] :
      {std::pair{HostBug::none, static_cast<const char*>(nullptr)}, {HostBug::skips_last_entry, "expected"},
          {HostBug::moves_shared_b, "expected"}, {HostBug::writes_entry_behind, "outside C"},
          {HostBug::drops_k_tail, "expected"}, {HostBug::skips_last_row, "expected"}}) {
    const auto fault = host_suite(image, bug);
    INFO("bug " << int(bug) << ": " << fault.value_or("nothing found"));
    CHECK(fault.has_value() == (says != nullptr));
    if (fault && says != nullptr) CHECK(fault->find(says) != std::string::npos);
  }
}

TEST_CASE("the reference of groups computes each row that is compared once, by its group's B") {
  ProblemStage stage;
  const Problem split = grouped(packed_problem({*find_type_pair("f16f32"), {}}, 10, 8, 8), 4);
  stage.row_count = 10;
  std::vector<std::int64_t> rows_of_b;
  for (const ReferencePart& part : reference_parts(split, stage)) {
    CHECK(part.a == 0);
    CHECK(part.first_row == part.sums_row);
    for (std::int64_t i = 0; i < part.rows; ++i) rows_of_b.push_back(part.b);
  }
  CHECK(rows_of_b == std::vector<std::int64_t>{0, 0, 1, 1, 1, 2, 2, 3, 3, 3});
  stage.sampled = {0, 4, 5, 9};
  stage.row_count = 4;
  std::vector<std::int64_t> sampled_b;
  for (const ReferencePart& part : reference_parts(split, stage)) {
    for (std::int64_t i = 0; i < part.rows; ++i) sampled_b.push_back(part.b);
  }
  CHECK(sampled_b == std::vector<std::int64_t>{0, 1, 2, 3});
}
