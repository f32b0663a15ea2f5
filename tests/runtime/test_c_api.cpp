// The C interface, without a device.
#include <fmt/format.h>

#include <limits>

#include "runtime/interface/tilesmith.h"
#include "runtime/interface/c_values.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/library_fixture.hpp"

using namespace tilesmith;

namespace {

namespace fake = runtime::fake;
using runtime::fake::address;
using runtime::fake::open_stored_in_c;
using runtime::fake::stored_only;
using runtime::fake::writable;
using Fixture = runtime::fake::LibraryFixture;

}  // namespace

TEST_CASE("the C interface plans, explains and runs", "[api]") {
  const Fixture fixture;
  tilesmith_library* library = nullptr;
  REQUIRE(tilesmith_open(fixture.small_database().c_str(), 0, &library) == TILESMITH_OK);
  tilesmith_problem problem;
  REQUIRE(tilesmith_problem_init(&problem, "f16f32", "NN", 512, 512, 512) == TILESMITH_OK);
  tilesmith_plan* plan = nullptr;
  REQUIRE(tilesmith_plan_create(library, &problem, &plan) == TILESMITH_OK);
  CHECK(std::string(tilesmith_device(library)) == db::text(fixture.info.identity));
  tilesmith_close(library);
  std::uint64_t bytes = 1;
  CHECK(tilesmith_plan_workspace_bytes(plan, &bytes) == TILESMITH_OK);
  CHECK(bytes == 0);
  CHECK(tilesmith_plan_reserve_workspace(plan) == TILESMITH_OK);
  tilesmith_explanation why;
  REQUIRE(tilesmith_plan_explain(plan, &why) == TILESMITH_OK);
  CHECK(std::string(why.rung) == "exact");
  CHECK(std::string(why.config) == Fixture::simt(32).text());
  CHECK(why.median_us == 9.5);
  const float alpha = 2, one = 1, zero = 0;
  CHECK(tilesmith_plan_run(plan, nullptr, &alpha, address(0x10000000), address(0x20000000), &zero, writable(0x30000000), nullptr) ==
        TILESMITH_OK);
  CHECK(fake::state().launches.at(0).args.alpha.f32 == 2.0f);
  CHECK(tilesmith_plan_run(plan, nullptr, &alpha, address(0x10000000), address(0x20000000), &one, writable(0x30000000), nullptr) ==
        TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("beta") != std::string::npos);
  CHECK(tilesmith_plan_run(plan, nullptr, &alpha, address(0x10000001), address(0x20000000), &zero, writable(0x30000000), nullptr) ==
        TILESMITH_MISALIGNED);
  tilesmith_plan_destroy(plan);
}

TEST_CASE("the C interface writes a problem's canonical text, and says why it refuses one", "[api]") {
  tilesmith_problem problem;
  REQUIRE(tilesmith_problem_init(&problem, "bf16f32bf16", "NT", 1, 64, 32) == TILESMITH_OK);
  problem.lda = std::int64_t{1} << 40;
  problem.ldb = 40;
  problem.bias = TILESMITH_BIAS_N;
  char text[512];
  REQUIRE(tilesmith_problem_text(&problem, text, sizeof text) == TILESMITH_OK);
  CHECK(std::string(text) == "bf16f32bf16 NT 1 64 32 ldb=40 epilogue=bias_n");
  CHECK(tilesmith_problem_text(&problem, text, 46) == TILESMITH_OK);
  CHECK(tilesmith_problem_text(&problem, text, 45) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("size is 45: expected at least 46") != std::string::npos);
  CHECK(*text == '\0');
  problem.m = 2;
  CHECK(tilesmith_problem_text(&problem, text, sizeof text) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("lda is 1099511627776: expected 32") != std::string::npos);
  tilesmith_strided_batch batch;
  REQUIRE(tilesmith_strided_batch_init(&batch, "f32f32", "NN", 8, 8, 8, 4) == TILESMITH_OK);
  batch.problem.m = batch.problem.n = batch.problem.lda = batch.problem.ldb = std::numeric_limits<std::int64_t>::max();
  CHECK(tilesmith_problem_text(&batch.problem, text, sizeof text) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("M is 9223372036854775807: expected 0 to") != std::string::npos);
  CHECK(tilesmith_problem_text(nullptr, text, sizeof text) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_problem_text(&problem, nullptr, 0) == TILESMITH_BAD_ARGUMENT);
}

TEST_CASE("the C interface takes a run's operands as a struct of any later version, C and D apart", "[api]") {
  const Fixture fixture;
  db::Store::open(fixture.path("generic.db")).record_build(
      fixture.build("f16f32 NN 1 1 1", generic_config(fixture.target(fixture.problem("f16f32 NN 1 1 1")))));
  tilesmith_library* const library = open_stored_in_c(fixture.path("generic.db"));
  tilesmith_problem problem;
  REQUIRE(tilesmith_problem_init(&problem, "f16f32", "NN", 16, 16, 16) == TILESMITH_OK);
  problem.beta_is_zero = 0;
  const float alpha = 2, beta = 1;
  struct {
    tilesmith_run_args args{};
    std::uint64_t of_later_version = 0;
  } later;
  later.args = {sizeof later, &alpha, &beta, address(0x10000000), address(0x20000000), address(0x30000000), writable(0x40000000), nullptr};
  REQUIRE(tilesmith_gemm_args(library, nullptr, &problem, &later.args) == TILESMITH_OK);
  CHECK(fake::state().launches.at(0).args.d == writable(0x40000000));
  REQUIRE(fake::state().copies.size() == 1);
  CHECK(fake::state().copies[0].srcDevice == 0x30000000);
  tilesmith_plan* plan = nullptr;
  REQUIRE(tilesmith_plan_create(library, &problem, &plan) == TILESMITH_OK);
  later.args.d = writable(0x30000040);  // of C's rows
  CHECK(tilesmith_plan_run_args(plan, nullptr, &later.args) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("overlaps") != std::string::npos);
  later.args.d = writable(0x40000000);
  CHECK(tilesmith_plan_run_args(plan, nullptr, &later.args) == TILESMITH_OK);
  later.of_later_version = 1;
  CHECK(tilesmith_plan_run_args(plan, nullptr, &later.args) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("does not know") != std::string::npos);
  later.args.size = 8;
  CHECK(tilesmith_plan_run_args(plan, nullptr, &later.args) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("the size of a tilesmith_run_args is 8") != std::string::npos);
  later.args.size = sizeof later.args;
  later.args.alpha = nullptr;
  CHECK(tilesmith_plan_run_args(plan, nullptr, &later.args) == TILESMITH_BAD_ARGUMENT);
  CHECK(fake::state().launches.size() == 2);
  tilesmith_plan_destroy(plan);
  tilesmith_close(library);
}

TEST_CASE("the C interface reads scales in the type pair's scale type", "[api]") {
  const Fixture fixture;
  {
    db::Store store = db::Store::open(fixture.path("generic.db"));
    for (const char* where : {"s8s32 NN 1 1 1", "f64f64 NN 1 1 1", "s4s32 NN 1 1 1", "b1xors32 NN 1 1 1"}) {
      store.record_build(fixture.build(where, generic_config(fixture.target(fixture.problem(where)))));
    }
  }
  tilesmith_library* const library = open_stored_in_c(fixture.path("generic.db"));
  const auto launch = [&](const char* type, const void* alpha, const void* beta) {
    tilesmith_problem problem;
    tilesmith_plan* plan = nullptr;
    REQUIRE(tilesmith_problem_init(&problem, type, "NN", 16, 16, 16) == TILESMITH_OK);
    problem.beta_is_zero = 0;
    REQUIRE(tilesmith_plan_create(library, &problem, &plan) == TILESMITH_OK);
    REQUIRE(tilesmith_plan_run(plan, nullptr, alpha, address(0x10000000), address(0x20000000), beta, writable(0x30000000),
                               nullptr) == TILESMITH_OK);
    tilesmith_plan_destroy(plan);
    return fake::state().launches.back().args;
  };
  const std::int32_t minus_seven = -7, most = std::numeric_limits<std::int32_t>::max();
  CHECK(launch("s8s32", &minus_seven, &most).alpha.s32 == -7);
  CHECK(fake::state().launches.back().args.beta.s32 == most);
  const double third = 1.0 / 3, zero = 0;
  CHECK(launch("f64f64", &third, &zero).alpha.f64 == third);
  // Elements below a byte: kernels get row strides in bytes.
  const GemmArgs nibbles = launch("s4s32", &minus_seven, &most), bits = launch("b1xors32", &minus_seven, &most);
  CHECK((nibbles.alpha.s32 == -7 && nibbles.k == 16 && nibbles.lda == 8 && nibbles.ldb == 8 && nibbles.ldc == 16));
  CHECK((bits.beta.s32 == most && bits.k == 16 && bits.lda == 2 && bits.ldc == 16));
  tilesmith_close(library);
}

TEST_CASE("the C interface refuses null and nonsense with a status and one line", "[api]") {
  const Fixture fixture;
  const auto line = [] { return std::string(tilesmith_last_error()); };
  tilesmith_library* library = nullptr;
  tilesmith_plan* plan = nullptr;
  tilesmith_problem problem;
  CHECK(tilesmith_open("x", 0, nullptr) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_open(fixture.path("missing.db").c_str(), 0, &library) == TILESMITH_BAD_DATABASE);
  CHECK(library == nullptr);
  CHECK(line().find("missing.db") != std::string::npos);
  CHECK(tilesmith_problem_init(nullptr, "f16f32", "NN", 1, 1, 1) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_problem_init(&problem, nullptr, "NN", 1, 1, 1) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_problem_init(&problem, "f17f32", "NN", 1, 1, 1) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("expected one of f16f32") != std::string::npos);
  CHECK(tilesmith_problem_init(&problem, "f16f32", "XY", 1, 1, 1) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_problem_init(&problem, "f16f32", "NN", -1, 1, 1) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("M is -1") != std::string::npos);
  CHECK(tilesmith_problem_init(&problem, "f16f32", "NN", 1, 1, std::int64_t{1} << 40) == TILESMITH_BAD_ARGUMENT);

  REQUIRE(tilesmith_open(fixture.small_database().c_str(), 0, &library) == TILESMITH_OK);
  REQUIRE(tilesmith_problem_init(&problem, "f16f32", "NN", 512, 512, 512) == TILESMITH_OK);
  CHECK(tilesmith_plan_create(nullptr, &problem, &plan) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_plan_create(library, nullptr, &plan) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_plan_create(library, &problem, nullptr) == TILESMITH_BAD_ARGUMENT);
  tilesmith_problem not_filled{};
  CHECK(tilesmith_plan_create(library, &not_filled, &plan) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("type is empty") != std::string::npos);
  tilesmith_problem unended = problem;
  std::memset(unended.type, 'x', sizeof unended.type);
  CHECK(tilesmith_plan_create(library, &unended, &plan) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("unknown type pair 'xxxxxxxxxxxxxxxx'") != std::string::npos);
  tilesmith_problem within_a_byte{};
  REQUIRE(tilesmith_problem_init(&within_a_byte, "u4s32", "NT", 16, 16, 16) == TILESMITH_OK);
  within_a_byte.lda = 17;
  CHECK(tilesmith_plan_create(library, &within_a_byte, &plan) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("lda is 17: expected rows of whole bytes, 4 bits an element") != std::string::npos);
  tilesmith_problem from_the_future = problem;
  from_the_future.reserved[0] = 1;
  CHECK(tilesmith_plan_create(library, &from_the_future, &plan) == TILESMITH_BAD_ARGUMENT);
  tilesmith_problem no_such_epilogue = problem;
  no_such_epilogue.bias = 5;
  CHECK(tilesmith_plan_create(library, &no_such_epilogue, &plan) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("bias is 5: expected a tilesmith_bias") != std::string::npos);
  no_such_epilogue.bias = TILESMITH_BIAS_N_F32;  // of f32 outputs
  CHECK(tilesmith_plan_create(library, &no_such_epilogue, &plan) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("not narrower than f32") != std::string::npos);
  no_such_epilogue.bias = TILESMITH_BIAS_N;
  no_such_epilogue.activation = -1;
  CHECK(tilesmith_plan_create(library, &no_such_epilogue, &plan) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("activation is -1: expected a tilesmith_activation") != std::string::npos);
  no_such_epilogue = problem;
  no_such_epilogue.activation = TILESMITH_SWIGLU;
  no_such_epilogue.beta_is_zero = 0;
  CHECK(tilesmith_plan_create(library, &no_such_epilogue, &plan) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("expected beta=zero, epilogue=swiglu") != std::string::npos);
  no_such_epilogue.beta_is_zero = 1;
  no_such_epilogue.n = 17;
  CHECK(tilesmith_plan_create(library, &no_such_epilogue, &plan) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("N is 17: expected an even number") != std::string::npos);
  no_such_epilogue.n = 16;
  CHECK(text(runtime::to_problem(no_such_epilogue)).ends_with(" epilogue=swiglu"));
  CHECK(runtime::to_problem(no_such_epilogue).ldc == 8);
  no_such_epilogue.activation = TILESMITH_SWIGLU_INTERLEAVED;
  CHECK(runtime::to_problem(no_such_epilogue).epilogue.activation == Activation::swiglu_interleaved);
  no_such_epilogue.activation = int16_t(std::size(kActivations));
  CHECK(tilesmith_plan_create(library, &no_such_epilogue, &plan) == TILESMITH_BAD_ARGUMENT);
  static_assert(sizeof(tilesmith_problem) == 104);
  REQUIRE(tilesmith_plan_create(library, &problem, &plan) == TILESMITH_OK);
  const float one = 1;
  CHECK(tilesmith_plan_run(nullptr, nullptr, &one, nullptr, nullptr, &one, nullptr, nullptr) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_plan_run(plan, nullptr, nullptr, nullptr, nullptr, &one, nullptr, nullptr) == TILESMITH_BAD_ARGUMENT);
  CHECK(line() == "tilesmith_plan_run: alpha is null");
  CHECK(tilesmith_plan_run(plan, nullptr, &one, nullptr, nullptr, &one, nullptr, nullptr) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_plan_workspace_bytes(plan, nullptr) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_plan_explain(nullptr, nullptr) == TILESMITH_BAD_ARGUMENT);
  tilesmith_plan_destroy(plan);
  tilesmith_plan_destroy(nullptr);
  tilesmith_close(library);
  tilesmith_close(nullptr);
  CHECK(std::string(tilesmith_version()) == version());
  CHECK(version() == fmt::format("{}.{}.{}", TILESMITH_VERSION_MAJOR, TILESMITH_VERSION_MINOR, TILESMITH_VERSION_PATCH));
  CHECK(std::string(tilesmith_status_name(TILESMITH_NO_DEVICE)) == "no device");
  CHECK(std::string(tilesmith_status_name(TILESMITH_NOT_PLANNED)) == "not planned");
  CHECK(std::string(tilesmith_status_name(tilesmith_status(77))) == "unknown status");
}

TEST_CASE("a strided batch in C is a problem with more behind it", "[api]") {
  const Fixture fixture;
  const auto line = [] { return std::string(tilesmith_last_error()); };
  const char* const where = "f16f32 NN 1 1 1 batch_mode=strided";
  db::Store::open(fixture.path("generic.db")).record_build(fixture.build(where, generic_config(fixture.target(fixture.problem(where)))));
  tilesmith_library* const library = open_stored_in_c(fixture.path("generic.db"));
  tilesmith_strided_batch batch;
  CHECK(tilesmith_strided_batch_init(nullptr, "f16f32", "NN", 16, 24, 32, 3) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_strided_batch_init(&batch, "f16f32", "NX", 16, 24, 32, 3) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_strided_batch_init(&batch, "f16f32", "NN", 16, 24, 32, -3) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("batch is -3: expected 0 to 1048576") != std::string::npos);
  CHECK(batch.problem.batch_size == 0);
  REQUIRE(tilesmith_strided_batch_init(&batch, "f16f32", "NN", 16, 24, 32, 3) == TILESMITH_OK);
  batch.problem.lda = 40;
  batch.stride_b = 0;
  const float alpha = 2, zero = 0;
  REQUIRE(tilesmith_gemm(library, nullptr, &batch.problem, &alpha, address(0x10000000), address(0x20000000), &zero, writable(0x30000000)) == TILESMITH_OK);
  const GemmArgs more = fake::state().launches.at(0).args;
  CHECK(more.batch == 3);
  CHECK(more.stride_a == 16 * 40);
  CHECK(more.stride_b == 0);
  CHECK(more.stride_c == 16 * 24);
  tilesmith_plan* plan = nullptr;
  batch.stride_c = 1;
  CHECK(tilesmith_plan_create(library, &batch.problem, &plan) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("stride_c is 1: expected entries that do not overlap") != std::string::npos);
  batch.stride_c = TILESMITH_PACKED;
  batch.count = 0;
  CHECK(tilesmith_gemm(library, nullptr, &batch.problem, &alpha, nullptr, nullptr, &zero, nullptr) == TILESMITH_OK);
  batch.problem.batch_size = 8;
  CHECK(tilesmith_plan_create(library, &batch.problem, &plan) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("batch_size is 8") != std::string::npos);
  CHECK(fake::state().launches.size() == 1);
  tilesmith_close(library);
}

TEST_CASE("a batch by pointers in C is a strided one with another word for its strides", "[api]") {
  const Fixture fixture;
  const char* const where = "f16f32 NN 1 1 1 batch_mode=pointers";
  db::Store::open(fixture.path("generic.db")).record_build(fixture.build(where, generic_config(fixture.target(fixture.problem(where)))));
  tilesmith_library* const library = open_stored_in_c(fixture.path("generic.db"));
  tilesmith_strided_batch batch;
  REQUIRE(tilesmith_strided_batch_init(&batch, "f16f32", "NN", 16, 24, 32, 3) == TILESMITH_OK);
  batch.stride_a = batch.stride_c = TILESMITH_BY_POINTERS;
  const float alpha = 2, zero = 0;
  const auto run = [&](std::uintptr_t d) { return tilesmith_gemm(library, nullptr, &batch.problem, &alpha, address(0x10000008), address(0x20000008), &zero, writable(d)); };
  CHECK(run(0x30000008) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("one stride is TILESMITH_BY_POINTERS and another is not") != std::string::npos);
  batch.stride_b = TILESMITH_BY_POINTERS;
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
  db::Store::open(fixture.path("generic.db")).record_build(fixture.build(where, generic_config(fixture.target(fixture.problem(where)))));
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
