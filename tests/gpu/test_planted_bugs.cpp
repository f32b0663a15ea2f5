// The verifier is itself proven: it catches each of these kernels, and passes the ones they were made from.
#include <future>
#include <memory>
#include <vector>

#include "runtime/compile/compiler.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/planted_bugs.hpp"
#include "tuner/verify/verifier.hpp"

namespace tilesmith::test_planted_bugs {

namespace {

struct Bench {
  explicit Bench(const std::string& as = {}) : context(0, as) {}

  runtime::Context context;
  tuner::Verifier verifier{context};

  KernelTarget target(const planted::Bug& bug) const { return bug.target(context.info().limits); }

  runtime::SourceBuild build(const planted::Bug& bug) const {
    const KernelTarget on = target(bug);
    return runtime::compile_source(
        planted::planted_source(bug, on), "planted.cu", "gemm", runtime::compiler_options(on));
  }

  static std::shared_ptr<const runtime::Module> load(const runtime::SourceBuild& built) {
    INFO(built.log);
    REQUIRE(built.ok);
    return std::make_shared<const runtime::Module>(built.cubin);
  }

  db::Outcome outcome(
      const planted::Bug& bug, const runtime::SourceBuild& built, tuner::Suite suite = tuner::Suite::whole) {
    const KernelTarget on = target(bug);
    return verifier.suite(load(built), planted::config_of(bug, on), on, suite);
  }

  /// check(bug, outcome of its suite) for each; all are compiled at once.
  template <typename Check>
  void each_outcome(const std::vector<planted::Bug>& bugs, Check check, tuner::Suite suite = tuner::Suite::whole) {
    std::vector<std::future<runtime::SourceBuild>> builds;
    for (const planted::Bug& bug : bugs) builds.push_back(std::async(std::launch::async, [&] { return build(bug); }));
    for (std::size_t i = 0; i < bugs.size(); ++i) check(bugs[i], outcome(bugs[i], builds[i].get(), suite));
  }
};

}  // namespace

TEST_CASE("every planted bug is caught by the suite") {
  Bench bench;
  bench.each_outcome(planted::all_bugs(), [&](const planted::Bug& bug, const db::Outcome& outcome) {
    INFO(bug.family << ": " << bug.name << ": " << outcome.message);
    CHECK(outcome.status == db::Status::mismatch);
    CHECK_FALSE(outcome.message.empty());
    CHECK(outcome.message.find("refuses") == std::string::npos);
    CHECK_FALSE(outcome.timing.has_value());
  });
}

TEST_CASE("the kernels that the bugs are planted in pass the suite, spliced the same way") {
  Bench bench;
  std::vector<planted::Bug> sound = planted::all_bugs();
  for (planted::Bug& bug : sound) bug.edits.clear();
  bench.each_outcome(sound, [&](const planted::Bug& bug, const db::Outcome& outcome) {
    INFO(bug.family << " " << bug.type << " " << name(bug.trans) << ": " << outcome.message);
    CHECK(outcome.status == db::Status::ok);
  });
}

namespace {

void check_caught(const std::vector<planted::Bug>& bugs, const std::string& as = {}) {
  Bench bench(as);
  bench.each_outcome(bugs, [&](const planted::Bug& bug, const db::Outcome& outcome) {
    INFO(bug.family << ": " << bug.name << ": " << outcome.message);
    CHECK(outcome.status == db::Status::mismatch);
    CHECK(outcome.message.find("refuses") == std::string::npos);
  });
  std::vector<planted::Bug> sound = bugs;
  for (planted::Bug& bug : sound) bug.edits.clear();
  bench.each_outcome(sound, [&](const planted::Bug& bug, const db::Outcome& outcome) {
    INFO(bug.family << " " << bug.type << " " << bug.epilogue << ": " << outcome.message);
    CHECK(outcome.status == db::Status::ok);
  });
}

}  // namespace

// A part of the two above, to be asked for by its tag.
TEST_CASE("every bug planted in a gate is caught, and what it is planted in passes", "[.][gate_bugs]") {
  check_caught(planted::gate_bugs());
}
TEST_CASE(
    "every bug planted in scales of blocks of K is caught, and what it is planted in passes", "[.][block_scale_bugs]") {
  check_caught(planted::block_scale_bugs());
  check_caught(planted::scaled_mma_bugs());
}
TEST_CASE("every bug planted in strided batches is caught, and what it is planted in passes", "[.][batch_bugs]") {
  check_caught(planted::batch_bugs());
}
TEST_CASE("every bug planted in results of a byte is caught, and what it is planted in passes", "[.][byte_bugs]") {
  check_caught(planted::byte_bugs());
}
TEST_CASE(
    "every bug planted in kernels of sparse operands is caught, and what it is planted in passes", "[.][sparse_bugs]") {
  check_caught(planted::sparse_bugs());
}
TEST_CASE("every bug planted in products of 8-bit floats on Ada is caught, and what it is planted in passes",
    "[.][fp8_bugs]") {
  if (runtime::device_info(0).limits.sm < 89) return;
  check_caught(planted::fp8_bugs(), "sm_89");
}
TEST_CASE("every bug planted in batches by pointers is caught, and what it is planted in passes", "[.][pointer_bugs]") {
  check_caught(planted::pointer_bugs());
}
TEST_CASE(
    "every bug planted in products with weights is caught, and what it is planted in passes", "[.][weights_bugs]") {
  check_caught(planted::weights_bugs());
}
TEST_CASE("every bug planted in fast kernels of weights is caught, and what it is planted in passes",
    "[.][fast_weights_bugs]") {
  check_caught(planted::fast_weights_bugs());
}
TEST_CASE("every bug planted in kernels of Q4_K is caught, and what it is planted in passes", "[.][q4k_bugs]") {
  check_caught(planted::q4k_bugs());
}
TEST_CASE("every bug planted in kernels of Q6_K is caught, and what it is planted in passes", "[.][q6k_bugs]") {
  check_caught(planted::q6k_bugs());
}
TEST_CASE("every bug planted in kernels of weights beside an A of 8 bits is caught, and what it is planted in passes",
    "[.][coded_bugs]") {
  check_caught(planted::coded_bugs());
}
TEST_CASE("every bug planted in kernels of experts' weights is caught, and what it is planted in passes",
    "[.][expert_bugs]") {
  check_caught(planted::expert_bugs());
}
TEST_CASE(
    "every bug planted in kernels that read scalars from device memory is caught, and what it is planted in passes",
    "[.][scalar_bugs]") {
  check_caught(planted::scalar_bugs());
}
TEST_CASE("every bug planted in kernels of operands below a byte is caught, and what it is planted in passes",
    "[.][sub_byte_bugs]") {
  check_caught(planted::sub_byte_bugs());
}

TEST_CASE("with each shape once the suite passes what is right and catches what is always wrong") {
  Bench bench;
  std::vector<planted::Bug> wrong;
  for (const planted::Bug& bug : planted::simt_bugs()) {
    const std::string name = bug.name;
    if (name == "the edge mask of N is off by one" || name == "lda and ldb are swapped" || name == "ldc is ignored" ||
        name == "the K tail is dropped")
      wrong.push_back(bug);
  }
  REQUIRE(wrong.size() == 4);
  const auto all_are = [&](const std::vector<planted::Bug>& bugs, db::Status status) {
    const auto check = [&](const planted::Bug& bug, const db::Outcome& outcome) {
      INFO(bug.name << ": " << outcome.message);
      CHECK(outcome.status == status);
    };
    bench.each_outcome(bugs, check, tuner::Suite::each_shape_once);
  };
  all_are(wrong, db::Status::mismatch);
  for (planted::Bug& bug : wrong) bug.edits.clear();
  all_are(wrong, db::Status::ok);
}

TEST_CASE("a kernel that overwrites an operand is blamed alone: the next suite is sound") {
  Bench bench;
  for (planted::Bug bug : planted::simt_bugs()) {
    if (std::string(bug.name) != "an operand is overwritten") continue;
    const db::Outcome wrong = bench.outcome(bug, bench.build(bug));
    INFO(wrong.message);
    CHECK(wrong.status == db::Status::mismatch);
    CHECK(wrong.message.find("far outside C") != std::string::npos);
    bug.edits.clear();
    const db::Outcome right = bench.outcome(bug, bench.build(bug));
    INFO(right.message);
    CHECK(right.status == db::Status::ok);
  }
}

TEST_CASE(
    "operands of the tuned problem that a kernel overwrote are made anew for the next one, once, and that is told before") {
  Bench bench;
  for (planted::Bug bug : planted::simt_bugs()) {
    if (std::string(bug.name) != "an operand is overwritten") continue;
    const KernelTarget on = bench.target(bug);
    const Problem problem = packed_problem(on, 277, 277, 277);
    int made = 0;
    const auto outcome = [&] {
      const runtime::Plan plan(Bench::load(bench.build(bug)), planted::config_of(bug, on), problem);
      return bench.verifier.on_problem(plan, [&] { ++made; });
    };
    CHECK(outcome().message.find("far outside C") != std::string::npos);
    CHECK(made == 1);
    bug.edits.clear();
    for (int i = 0; i < 2; ++i) {
      const db::Outcome right = outcome();
      INFO(right.message);
      CHECK(right.status == db::Status::ok);
      CHECK(made == 2);
    }
  }
}

TEST_CASE("bugs are caught on the tuned problem too") {
  Bench bench;
  for (const planted::Bug& bug : planted::simt_bugs()) {
    const KernelTarget on = bench.target(bug);
    // Square, and lda the larger stride: a kernel that mixes up layouts or strides still reads inside its operands.
    Problem problem = packed_problem(on, 277, 277, 277);
    problem.lda += 16;
    problem.ldb += 8;
    problem.ldc += 8;
    problem.beta = BetaClass::any;
    // A kernel that reads C where β = 0 is only found by a problem whose β is 0.
    if (std::string(bug.name) == "C is read where beta is 0") problem.beta = BetaClass::zero;
    const runtime::Plan plan(Bench::load(bench.build(bug)), planted::config_of(bug, on), problem);
    const db::Outcome outcome = bench.verifier.on_problem(plan);
    INFO(bug.name << ": " << outcome.message);
    CHECK(outcome.status == db::Status::mismatch);
  }
}

TEST_CASE("bugs of batches are caught on a tuned batch too, and what they are planted in passes it") {
  Bench bench;
  std::vector<planted::Bug> bugs = planted::batch_bugs();
  const std::size_t wrong = bugs.size();
  for (std::size_t i = 0; i < wrong; ++i) {
    bugs.push_back(bugs[i]);
    bugs.back().edits.clear();
  }
  std::vector<std::future<runtime::SourceBuild>> builds;
  for (const planted::Bug& bug : bugs)
    builds.push_back(std::async(std::launch::async, [&] { return bench.build(bug); }));
  for (std::size_t i = 0; i < bugs.size(); ++i) {
    const planted::Bug& bug = bugs[i];
    const std::string name = bug.name;
    const KernelTarget on = bench.target(bug);
    // A grid of few entries has no z.
    const bool long_batch = name == "entries beyond a grid's y are taken for the first ones";
    Problem problem =
        long_batch ? batched(packed_problem(on, 4, 4, 4), 70000) : batched(packed_problem(on, 264, 136, 264), 5);
    if (std::string(bug.family) == "gemv")
      problem =
          long_batch ? batched(packed_problem(on, 1, 16, 16), 70000) : batched(packed_problem(on, 1, 144, 272), 5);
    problem.beta = BetaClass::any;
    if (name == "an A that all entries read is copied as if each had its own" ||
        name == "an operand that all entries read is not packed")
      problem.stride_a = 0;
    const runtime::Plan plan(Bench::load(builds[i].get()), planted::config_of(bug, on), problem);
    const db::Outcome outcome = bench.verifier.on_problem(plan);
    INFO(name << ": " << outcome.message);
    CHECK(outcome.status == (i < wrong ? db::Status::mismatch : db::Status::ok));
  }
}

TEST_CASE("bugs of groups are caught, and what they are planted in passes", "[groups]") {
  Bench bench;
  std::vector<planted::Bug> bugs = planted::group_bugs();
  bench.each_outcome(bugs, [&](const planted::Bug& bug, const db::Outcome& outcome) {
    INFO(bug.family << ": " << bug.name << ": " << outcome.message);
    CHECK(outcome.status == db::Status::mismatch);
    CHECK(outcome.message.find("refuses") == std::string::npos);
  });
  for (planted::Bug& bug : bugs) bug.edits.clear();
  bench.each_outcome(bugs, [&](const planted::Bug& bug, const db::Outcome& outcome) {
    INFO(bug.family << " " << bug.type << " " << name(bug.trans) << ": " << outcome.message);
    CHECK(outcome.status == db::Status::ok);
  });
}

}  // namespace tilesmith::test_planted_bugs
