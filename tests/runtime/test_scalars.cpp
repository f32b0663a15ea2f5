// α and β in device memory, in plans, in C++ and in C, without a device.
#include <cstring>
#include <string>

#include "runtime/interface/gemm.hpp"
#include "runtime/interface/tilesmith.h"
#include "tests/catch.hpp"
#include "tests/runtime/library_fixture.hpp"
#include "tests/runtime/planned_family.hpp"

namespace tilesmith::runtime {
namespace {

/// What a kernel finds in the place of a value.
const void* address_in(const Scale& scale) {
  const void* address;
  std::memcpy(&address, &scale, sizeof address);
  return address;
}

void put_scalars_on_device(Fixture& f, BetaClass beta) {
  f.problem.scalars = Scalars::device;
  f.problem.beta = beta;
  f.args.matrices[OperandRole::alpha] = Fixture::pointer(0x70004);
  f.args.matrices[OperandRole::beta] = Fixture::pointer(0x70008);
}

std::string scalars_database(const fake::LibraryFixture& fixture) {
  const char* const where = "f16f32 NN 1 1 1 scalars=device";
  db::Store::open(fixture.path("scalars.db"))
      .record_build(fixture.build(where, generic_config(fixture.target(fixture.problem(where)))));
  return fixture.path("scalars.db").string();
}

template <typename Call>
std::string refusal_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_argument);
    return error.what();
  }
  return "not refused";
}

}  // namespace

TEST_CASE("kernels are given where α and β lie, whatever the host's are, and K stays", "[scalars]") {
  Fixture f;
  put_scalars_on_device(f, BetaClass::any);
  f.args.alpha = to_scale(f.problem.type, 0);
  f.args.beta = to_scale(f.problem.type, 0);
  REQUIRE(f.plan().run(f.args) == 0);
  const GemmArgs& args = fake::state().launches.at(0).args;
  CHECK(address_in(args.alpha) == f.args.matrices[OperandRole::alpha]);
  CHECK(address_in(args.beta) == f.args.matrices[OperandRole::beta]);
  CHECK(args.k == 64);
}

TEST_CASE("where β is known to be 0 its address is none, and nothing is asked of it", "[scalars]") {
  Fixture f;
  put_scalars_on_device(f, BetaClass::zero);
  for (const std::uintptr_t beta :
      {std::uintptr_t{0}, std::uintptr_t{0x70008}, std::uintptr_t{0x30000}, std::uintptr_t{0x70001}}) {
    f.args.matrices[OperandRole::beta] = Fixture::pointer(beta);
    f.args.matrices[OperandRole::c] = Fixture::pointer(0x50001);  // not read
    REQUIRE(f.plan().run(f.args) == 0);
    CHECK(address_in(fake::state().launches.back().args.beta) == nullptr);
  }
  CHECK(fake::state().copies.empty());
}

TEST_CASE("α and β in device memory must be there, aligned, and apart from D", "[scalars]") {
  for (const OperandRole role : {OperandRole::alpha, OperandRole::beta}) {
    Fixture f;
    put_scalars_on_device(f, BetaClass::any);
    const Plan plan = f.plan();
    const auto run = [&](std::uintptr_t address) {
      RunArgs args = f.args;
      args.matrices[role] = Fixture::pointer(address);
      return plan.run(args);
    };
    CHECK(run(0) == Plan::kNullPointer);
    CHECK(run(0x70002) == Plan::kMisaligned);
    CHECK(run(0x30000) == Plan::kOverlap);
    CHECK(run(0x30000 + 4 * 32 * 48 - 4) == Plan::kOverlap);
    CHECK(run(0x30000 + 4 * 32 * 48) == 0);
    CHECK(run(0x10000) == 0);  // among what is only read
    CHECK(fake::state().launches.size() == 2);
  }
}

TEST_CASE("the host copies C to another D whatever β on the device comes to", "[scalars]") {
  Fixture f;
  put_scalars_on_device(f, BetaClass::any);
  f.args.beta = to_scale(f.problem.type, 0);
  f.args.matrices[OperandRole::c] = Fixture::pointer(0x50000);
  REQUIRE(f.plan().run(f.args) == 0);
  CHECK(fake::state().copies.size() == 1);
  f.problem.epilogue.bias = Bias::along_n;
  f.args.matrices[OperandRole::bias] = Fixture::pointer(0x60000);
  REQUIRE(f.plan().run(f.args) == 0);
  CHECK(fake::state().copies.size() == 1);
  CHECK(fake::state().launches.back().args.c == f.args.matrices[OperandRole::c]);
}

TEST_CASE("scalars are taken from one place: what is given in the other is refused", "[api][scalars]") {
  const fake::LibraryFixture fixture;
  const Library library = Library::open(scalars_database(fixture), fake::stored_only());
  Problem problem = fixture.problem("f16f32 NN 16 24 32 beta=any scalars=device");
  Operands run;
  run.a = fake::address(0x10000000);
  run.b = fake::address(0x20000000);
  run.d = fake::writable(0x30000000);
  const auto gemm = [&] { library.gemm(nullptr, problem, run); };
  CHECK(refusal_of(gemm).find("device_alpha") != std::string::npos);
  run.device_alpha = fake::address(0x40000000);
  CHECK(refusal_of(gemm).find("device_beta") != std::string::npos);
  run.device_beta = fake::address(0x40000004);
  gemm();
  REQUIRE(fake::state().launches.size() == 1);
  CHECK(address_in(fake::state().launches[0].args.alpha) == run.device_alpha);
  CHECK(address_in(fake::state().launches[0].args.beta) == run.device_beta);
  run.alpha = 2;
  CHECK(refusal_of(gemm).find("alpha is 2 and beta 0: expected 1 and 0") != std::string::npos);
  run.alpha = 1;
  run.beta = 0.5;
  CHECK(refusal_of(gemm).find("alpha is 1 and beta 0.5") != std::string::npos);
  run.beta = 0;
  // The beta class is the problem's: of zero β is not looked at.
  problem.beta = BetaClass::zero;
  run.device_beta = nullptr;
  gemm();
  CHECK(address_in(fake::state().launches.back().args.beta) == nullptr);
  CHECK(fake::state().launches.size() == 2);
}

TEST_CASE("a problem whose scalars are the host's refuses addresses of others", "[api][scalars]") {
  const fake::LibraryFixture fixture;
  const char* const where = "f16f32 NN 1 1 1";
  db::Store::open(fixture.path("host.db"))
      .record_build(fixture.build(where, generic_config(fixture.target(fixture.problem(where)))));
  const Library library = Library::open(fixture.path("host.db"), fake::stored_only());
  Operands run;
  run.a = fake::address(0x10000000);
  run.b = fake::address(0x20000000);
  run.d = fake::writable(0x30000000);
  const Problem problem = fixture.problem("f16f32 NN 16 24 32");
  library.gemm(nullptr, problem, run);
  for (const void* Operands::*scalar : {&Operands::device_alpha, &Operands::device_beta}) {
    Operands both = run;
    both.*scalar = fake::address(0x40000000);
    CHECK(refusal_of([&] {
      library.gemm(nullptr, problem, both);
    }).find("expected null, the problem takes alpha and beta from the host") != std::string::npos);
  }
  CHECK(fake::state().launches.size() == 1);
}

TEST_CASE("in C a problem says where alpha and beta are, in every call", "[api][scalars]") {
  const fake::LibraryFixture fixture;
  tilesmith_library* const library = fake::open_stored_in_c(scalars_database(fixture));
  tilesmith_problem problem = TILESMITH_PROBLEM_OF("f16f32", "NN", 16, 24, 32);
  CHECK(problem.scalars_on_device == 0);
  problem.scalars_on_device = 1;
  problem.beta_is_zero = 0;
  const void* const alpha = fake::address(0x40000000);
  const void* const beta = fake::address(0x50000004);
  const auto launched = [&](const void* with_alpha, const void* with_beta) {
    const GemmArgs& args = fake::state().launches.back().args;
    return address_in(args.alpha) == with_alpha && address_in(args.beta) == with_beta;
  };
  tilesmith_run run = fake::run_in_c(0x10000000, 0x20000000, 0x30000000, alpha);
  CHECK(tilesmith_gemm(library, nullptr, &problem, &run) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("expected device memory") != std::string::npos);
  run.operands[TILESMITH_BETA] = beta;
  REQUIRE(tilesmith_gemm(library, nullptr, &problem, &run) == TILESMITH_OK);
  CHECK(launched(alpha, beta));
  tilesmith_plan* plan = nullptr;
  problem.beta_is_zero = 1;
  REQUIRE(tilesmith_plan_create(library, &problem, &plan) == TILESMITH_OK);
  REQUIRE(tilesmith_plan_run(plan, nullptr, &run) == TILESMITH_OK);
  CHECK(launched(alpha, nullptr));
  run.operands[TILESMITH_BETA] = nullptr;
  REQUIRE(tilesmith_plan_run(plan, nullptr, &run) == TILESMITH_OK);
  CHECK(launched(alpha, nullptr));
  run.operands[TILESMITH_ALPHA] = nullptr;
  CHECK(tilesmith_plan_run(plan, nullptr, &run) == TILESMITH_BAD_ARGUMENT);
  CHECK(fake::state().launches.size() == 3);
  tilesmith_plan_destroy(plan);
  tilesmith_close(library);
}

}  // namespace tilesmith::runtime
