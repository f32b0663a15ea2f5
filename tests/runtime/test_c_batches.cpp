// Batches in the C interface, without a device.
#include "runtime/interface/tilesmith.h"
#include "tests/catch.hpp"
#include "tests/runtime/library_fixture.hpp"

using namespace tilesmith;

namespace {

namespace fake = runtime::fake;
using runtime::fake::address;
using runtime::fake::open_stored_in_c;
using runtime::fake::problem_in_c;
using runtime::fake::run_in_c;
using runtime::fake::stored_only;
using runtime::fake::writable;
using Fixture = runtime::fake::LibraryFixture;

}  // namespace

TEST_CASE("a strided batch in C is a batch mode with a number and strides", "[api]") {
  const Fixture fixture;
  const auto line = [] { return std::string(tilesmith_last_error()); };
  const char* const where = "f16f32 NN 1 1 1 batch_mode=strided";
  db::Store::open(fixture.path("generic.db"))
      .record_build(fixture.build(where, generic_config(fixture.target(fixture.problem(where)))));
  tilesmith_library* const library = open_stored_in_c(fixture.path("generic.db"));
  tilesmith_problem batch = TILESMITH_PROBLEM_OF("f16f32", "NN", 16, 24, 32);
  const tilesmith_run run = run_in_c(0x10000000, 0x20000000, 0x30000000);
  const auto refused = [&](const char* why) {
    CHECK(tilesmith_gemm(library, nullptr, &batch, &run) == TILESMITH_BAD_ARGUMENT);
    INFO(line());
    CHECK(line().find(why) != std::string::npos);
  };
  batch.batch = 3;
  refused("batch is 3: expected 1 without batch_mode");
  batch.batch_mode = TILESMITH_STRIDED;
  batch.batch = -3;
  refused("batch is -3: expected 0 to 1048576");
  batch.batch = 3;
  batch.lda = 40;
  batch.stride_b = 0;
  REQUIRE(tilesmith_gemm(library, nullptr, &batch, &run) == TILESMITH_OK);
  const GemmArgs more = fake::state().launches.at(0).args;
  CHECK(more.batch == 3);
  CHECK(more.stride_a == 16 * 40);
  CHECK(more.stride_b == 0);
  CHECK(more.stride_c == 16 * 24);
  batch.stride_c = 1;
  refused("stride_c is 1: expected entries that do not overlap");
  batch.stride_c = TILESMITH_PACKED;
  batch.batch = 0;
  CHECK(tilesmith_gemm(library, nullptr, &batch, &run) == TILESMITH_OK);
  batch.batch_mode = 4;
  refused("batch_mode is 4: expected 0 to 3");
  CHECK(fake::state().launches.size() == 1);
  tilesmith_close(library);
}

TEST_CASE("a batch by pointers in C is given arrays of pointers, and no strides", "[api]") {
  const Fixture fixture;
  const char* const where = "f16f32 NN 1 1 1 batch_mode=pointers";
  db::Store::open(fixture.path("generic.db"))
      .record_build(fixture.build(where, generic_config(fixture.target(fixture.problem(where)))));
  tilesmith_library* const library = open_stored_in_c(fixture.path("generic.db"));
  tilesmith_problem batch = problem_in_c("f16f32 NN 16 24 32 batch=3 batch_mode=pointers");
  const auto run = [&](std::uintptr_t d) {
    const tilesmith_run asked = run_in_c(0x10000008, 0x20000008, d);
    return tilesmith_gemm(library, nullptr, &batch, &asked);
  };
  batch.stride_b = 0;
  CHECK(run(0x30000008) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("stride_b is 0: expected none") != std::string::npos);
  batch.stride_b = TILESMITH_PACKED;
  REQUIRE(run(0x30000008) == TILESMITH_OK);  // an array of pointers is aligned to 8 bytes, whatever align_bytes says
  const GemmArgs more = fake::state().launches.at(0).args;
  CHECK(more.batch == 3);
  CHECK(more.stride_a == kByPointers);
  CHECK(more.stride_b == kByPointers);
  CHECK(more.stride_c == kByPointers);
  CHECK(run(0x30000004) == TILESMITH_MISALIGNED);
  CHECK(run(0x10000010) == TILESMITH_BAD_ARGUMENT);  // within A's array
  CHECK(fake::state().launches.size() == 1);
  tilesmith_close(library);
}

TEST_CASE("by pointers, a kernel is given D's array where the run does not read another, which may be none", "[api]") {
  const Fixture fixture;
  const char* const where = "f16f32 NN 1 1 1 epilogue=c_apart batch_mode=pointers beta=any";
  db::Store::open(fixture.path("generic.db"))
      .record_build(fixture.build(where, generic_config(fixture.target(fixture.problem(where)))));
  const Library library = Library::open(fixture.path("generic.db"), stored_only());
  const Problem problem = fixture.problem("f16f32 NN 16 24 32 epilogue=c_apart batch=3 batch_mode=pointers beta=any");
  Operands run;
  run.d = writable(0x30000008);
  run.alpha = 0;
  run.beta = 1;
  run.c = address(0x50000008);
  library.gemm(nullptr, problem, run);
  CHECK(fake::state().launches.back().args.a == run.d);
  CHECK(fake::state().launches.back().args.b == run.d);
  CHECK(fake::state().launches.back().args.c == run.c);
  const GemmPlan plan = library.plan(problem);
  run.alpha = 1;
  run.beta = 0;
  run.a = address(0x10000008);
  run.b = address(0x20000008);
  run.c = address(0x50000001);  // not read
  plan.run(nullptr, run, nullptr);
  CHECK(fake::state().launches.back().args.a == run.a);
  CHECK(fake::state().launches.back().args.c == run.d);
}
