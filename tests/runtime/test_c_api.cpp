// The C interface, without a device.
#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "runtime/interface/c_values.hpp"
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

TEST_CASE("the C interface plans, explains and runs", "[api]") {
  const Fixture fixture;
  tilesmith_library* library = nullptr;
  REQUIRE(tilesmith_open(fixture.small_database().c_str(), 0, &library) == TILESMITH_OK);
  const tilesmith_problem problem = TILESMITH_PROBLEM_OF("f16f32", "NN", 512, 512, 512);
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
  CHECK(std::string(why.level) == "exact");
  CHECK(std::string(why.config) == Fixture::simt(32).text());
  CHECK(why.median_us == 9.5);
  const float alpha = 2, one = 1, zero = 0;
  const auto run = [&](std::uintptr_t a, const float* beta) {
    const tilesmith_run asked = run_in_c(a, 0x20000000, 0x30000000, &alpha, beta);
    return tilesmith_plan_run(plan, nullptr, &asked);
  };
  CHECK(run(0x10000000, &zero) == TILESMITH_OK);
  CHECK(fake::state().launches.at(0).args.alpha.f32 == 2.0f);
  CHECK(run(0x10000000, nullptr) == TILESMITH_OK);  // 0
  CHECK(run(0x10000000, &one) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("beta") != std::string::npos);
  CHECK(run(0x10000001, &zero) == TILESMITH_MISALIGNED);
  tilesmith_plan_destroy(plan);
}

TEST_CASE("the C interface writes a problem's canonical text, and says why it refuses one", "[api]") {
  tilesmith_problem problem = TILESMITH_PROBLEM_OF("bf16f32bf16", "NT", 1, 64, 32);
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
  tilesmith_problem batch = problem_in_c("f32f32 NN 8 8 8 batch=4 batch_mode=strided");
  batch.m = batch.n = batch.lda = batch.ldb = std::numeric_limits<std::int64_t>::max();
  CHECK(tilesmith_problem_text(&batch, text, sizeof text) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("M is 9223372036854775807: expected 0 to") != std::string::npos);
  CHECK(tilesmith_problem_text(nullptr, text, sizeof text) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_problem_text(&problem, nullptr, 0) == TILESMITH_BAD_ARGUMENT);
}

TEST_CASE("a problem's text is read in C, and written again", "[api]") {
  for (const char* text : {"bf16f32bf16 NT 16 4096 4096 epilogue=scale_m+scale_n1+bias_n_f32+silu",
           "f16f32 TN 5 6 7 lda=9 ldc=16 align=4 beta=any epilogue=c_apart",
           "f32f32 NN 8 8 8 batch=4 stride_a=0 stride_b=80 batch_mode=strided scalars=device",
           "f16f32 NT 8 8 8 batch=3 batch_mode=pointers",
           "f16f32f16 NT 8 32 64 batch=5 batch_mode=grouped weights=u4_g64+zeros", "tf32f32 NT 8 8 8 sparsity=b_2to4",
           "e4m3f32bf16 NT 8 16 8 epilogue=swiglu_interleaved", "u4s32 NT 16 16 16 lda=18"}) {
    const tilesmith_problem problem = problem_in_c(text);
    char written[512];
    CHECK(tilesmith_problem_text(&problem, written, sizeof written) == TILESMITH_OK);
    CHECK(std::string(written) == text);
  }
  tilesmith_problem problem = problem_in_c("f16f32 TN 5 6 7 batch=4 batch_mode=strided");
  CHECK((problem.lda == 0 && problem.stride_a == TILESMITH_PACKED && problem.stride_c == TILESMITH_PACKED));
  problem.m = 9;  // what is packed stays so
  CHECK(text(runtime::to_problem(problem)) == "f16f32 TN 9 6 7 batch=4 batch_mode=strided");
  const tilesmith_problem before = problem;
  CHECK(tilesmith_problem_parse(&problem, "f16f32 NN 5 6 7 epilogue=tanh") == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("'epilogue=tanh': expected") == 0);
  CHECK(std::memcmp(&problem, &before, sizeof before) == 0);
  CHECK(tilesmith_problem_parse(nullptr, "f16f32 NN 5 6 7") == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_problem_parse(&problem, nullptr) == TILESMITH_BAD_ARGUMENT);
}

TEST_CASE("a problem of any version's size is read and written as far as it goes", "[api]") {
  struct {
    tilesmith_problem known;
    std::int64_t more;
  } longer = {TILESMITH_PROBLEM_OF("f16f32f16", "NT", 16, 24, 64), 0};
  longer.known.size = sizeof longer;
  CHECK(text(runtime::to_problem(longer.known)) == "f16f32f16 NT 16 24 64");
  longer.more = 1;
  char text[512];
  CHECK(tilesmith_problem_text(&longer.known, text, sizeof text) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("a tilesmith_problem holds a field that version") == 0);
  REQUIRE(tilesmith_problem_parse(&longer.known, "f16f32f16 NT 16 24 64 weights=s4_g32") == TILESMITH_OK);
  CHECK((longer.known.size == sizeof longer && longer.more == 0));
  tilesmith_problem shorter = longer.known;
  shorter.size = offsetof(tilesmith_problem, weights);
  CHECK(tilesmith::text(runtime::to_problem(shorter)) == "f16f32f16 NT 16 24 64");
  CHECK(tilesmith_problem_parse(&shorter, "f16f32f16 NT 16 24 32 weights=s4_g32") == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_problem_parse(&shorter, "f16f32f16 NT 16 24 32") == TILESMITH_OK);
  CHECK((shorter.k == 32 && shorter.size == offsetof(tilesmith_problem, weights) &&
         std::string(shorter.weights) == "s4_g32"));
  shorter.size = offsetof(tilesmith_problem, lda);
  CHECK(tilesmith::text(runtime::to_problem(shorter)) == "f16f32f16 NT 16 24 32");
  shorter.size = 16;
  CHECK(tilesmith_problem_text(&shorter, text, sizeof text) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("the size of a tilesmith_problem is 16") == 0);
}

TEST_CASE("the C interface takes a run of any version's size, C and D apart", "[api]") {
  const Fixture fixture;
  db::Store::open(fixture.path("generic.db"))
      .record_build(
          fixture.build("f16f32 NN 1 1 1", generic_config(fixture.target(fixture.problem("f16f32 NN 1 1 1")))));
  tilesmith_library* const library = open_stored_in_c(fixture.path("generic.db"));
  const tilesmith_problem problem = problem_in_c("f16f32 NN 16 16 16 beta=any");
  const float alpha = 2, beta = 1;
  struct {
    tilesmith_run run;
    std::uint64_t of_later_version;
  } later = {run_in_c(0x10000000, 0x20000000, 0x40000000, &alpha, &beta), 0};
  later.run.size = sizeof later;
  later.run.operands[TILESMITH_C] = address(0x30000000);
  REQUIRE(tilesmith_gemm(library, nullptr, &problem, &later.run) == TILESMITH_OK);
  CHECK(fake::state().launches.at(0).args.d == writable(0x40000000));
  REQUIRE(fake::state().copies.size() == 1);
  CHECK(fake::state().copies[0].srcDevice == 0x30000000);
  tilesmith_plan* plan = nullptr;
  REQUIRE(tilesmith_plan_create(library, &problem, &plan) == TILESMITH_OK);
  later.run.operands[TILESMITH_D] = writable(0x30000040);  // of C's rows
  CHECK(tilesmith_plan_run(plan, nullptr, &later.run) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("overlaps") != std::string::npos);
  later.run.operands[TILESMITH_D] = writable(0x40000000);
  CHECK(tilesmith_plan_run(plan, nullptr, &later.run) == TILESMITH_OK);
  later.of_later_version = 1;
  CHECK(tilesmith_plan_run(plan, nullptr, &later.run) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("does not know") != std::string::npos);
  later.run.size = 8;
  CHECK(tilesmith_plan_run(plan, nullptr, &later.run) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("the size of a tilesmith_run is 8") != std::string::npos);
  later.run.size = offsetof(tilesmith_run, operands) + 4 * sizeof(void*);  // without alpha and beta: 1 and 0
  CHECK(tilesmith_plan_run(plan, nullptr, &later.run) == TILESMITH_OK);
  CHECK(fake::state().launches.back().args.alpha.f32 == 1);
  CHECK(fake::state().copies.size() == 2);
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
    const tilesmith_problem problem = problem_in_c(fmt::format("{} NN 16 16 16 beta=any", type).c_str());
    const tilesmith_run run = run_in_c(0x10000000, 0x20000000, 0x30000000, alpha, beta);
    tilesmith_plan* plan = nullptr;
    REQUIRE(tilesmith_plan_create(library, &problem, &plan) == TILESMITH_OK);
    REQUIRE(tilesmith_plan_run(plan, nullptr, &run) == TILESMITH_OK);
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
  const tilesmith_problem problem = TILESMITH_PROBLEM_OF("f16f32", "NN", 512, 512, 512);
  CHECK(tilesmith_open("x", 0, nullptr) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_open(fixture.path("missing.db").c_str(), 0, &library) == TILESMITH_BAD_DATABASE);
  CHECK(library == nullptr);
  CHECK(line().find("missing.db") != std::string::npos);
  REQUIRE(tilesmith_open(fixture.small_database().c_str(), 0, &library) == TILESMITH_OK);
  const auto refused = [&](const tilesmith_problem& asked, const char* why) {
    CHECK(tilesmith_plan_create(library, &asked, &plan) == TILESMITH_BAD_ARGUMENT);
    INFO(line());
    CHECK(line().find(why) != std::string::npos);
    CHECK(plan == nullptr);
  };
  refused(TILESMITH_PROBLEM_OF("f17f32", "NN", 1, 1, 1), "expected one of f16f32");
  refused(TILESMITH_PROBLEM_OF("f16f32", "XY", 1, 1, 1), "unknown transposes 'XY'");
  refused(TILESMITH_PROBLEM_OF("f16f32", "NN", -1, 1, 1), "M is -1");
  refused(TILESMITH_PROBLEM_OF("f16f32", "NN", 1, 1, std::int64_t{1} << 40), "K is 1099511627776");
  CHECK(tilesmith_plan_create(nullptr, &problem, &plan) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_plan_create(library, nullptr, &plan) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_plan_create(library, &problem, nullptr) == TILESMITH_BAD_ARGUMENT);
  refused({}, "the size of a tilesmith_problem is 0");
  refused(TILESMITH_PROBLEM, "type is empty");
  tilesmith_problem unended = problem;
  std::memset(unended.type, 'x', sizeof unended.type);
  refused(unended, "unknown type pair 'xxxxxxxxxxxxxxxx'");
  tilesmith_problem within_a_byte = TILESMITH_PROBLEM_OF("u4s32", "NT", 16, 16, 16);
  within_a_byte.lda = 17;
  refused(within_a_byte, "lda is 17: expected rows of whole bytes, 4 bits an element");
  tilesmith_problem epilogue = problem;
  epilogue.bias = 5;
  refused(epilogue, "bias is 5: expected 0 to 2");
  epilogue.bias = TILESMITH_BIAS_N;
  epilogue.bias_is_f32 = 1;  // of f32 outputs
  refused(epilogue, "not narrower than f32");
  epilogue.bias_is_f32 = 0;
  epilogue.activation = -1;
  refused(epilogue, "activation is -1: expected 0 to 7");
  epilogue = problem;
  epilogue.activation = TILESMITH_SWIGLU;
  epilogue.beta_is_zero = 0;
  refused(epilogue, "expected beta=zero, epilogue=swiglu");
  epilogue.beta_is_zero = 1;
  epilogue.n = 17;
  refused(epilogue, "N is 17: expected an even number");
  epilogue.n = 16;
  CHECK(text(runtime::to_problem(epilogue)).ends_with(" epilogue=swiglu"));
  CHECK(runtime::to_problem(epilogue).ldc == 8);
  REQUIRE(tilesmith_plan_create(library, &problem, &plan) == TILESMITH_OK);
  const tilesmith_run run = {sizeof run};
  CHECK(tilesmith_plan_run(nullptr, nullptr, &run) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_plan_run(plan, nullptr, nullptr) == TILESMITH_BAD_ARGUMENT);
  CHECK(line() == "tilesmith_plan_run: run is null");
  CHECK(tilesmith_plan_run(plan, nullptr, &run) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_plan_workspace_bytes(plan, nullptr) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_plan_explain(nullptr, nullptr) == TILESMITH_BAD_ARGUMENT);
  tilesmith_plan_destroy(plan);
  tilesmith_plan_destroy(nullptr);
  tilesmith_close(library);
  tilesmith_close(nullptr);
  CHECK(std::string(tilesmith_version()) == version());
  CHECK(
      version() == fmt::format("{}.{}.{}", TILESMITH_VERSION_MAJOR, TILESMITH_VERSION_MINOR, TILESMITH_VERSION_PATCH));
  CHECK(std::string(tilesmith_status_name(TILESMITH_NO_DEVICE)) == "no device");
  CHECK(std::string(tilesmith_status_name(TILESMITH_NOT_PLANNED)) == "not planned");
  CHECK(std::string(tilesmith_status_name(tilesmith_status(77))) == "unknown status");
}
