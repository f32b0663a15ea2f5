// C and D apart, and kernels that take more operands than three.
#include <cstring>

#include "tests/catch.hpp"
#include "tests/runtime/planned_family.hpp"

namespace tilesmith::runtime {
namespace {

std::size_t count(const std::string& call) { return std::size_t(std::ranges::count(fake::state().calls, call)); }

}  // namespace

TEST_CASE("C is copied to another D where it is read, and only there", "[operand]") {
  Fixture f;
  f.problem.beta = BetaClass::any;
  f.problem.ldc = 50;
  const Plan plan = f.plan();
  f.args.matrices[OperandRole::c] = Fixture::pointer(0x50000);
  REQUIRE(plan.run(f.args) == 0);
  REQUIRE(fake::state().copies.size() == 1);
  const CUDA_MEMCPY2D& copy = fake::state().copies[0];
  CHECK(copy.srcDevice == 0x50000);
  CHECK(copy.dstDevice == 0x30000);
  CHECK(copy.WidthInBytes == 48 * 4);
  CHECK(copy.Height == 32);
  CHECK(copy.srcPitch == 50 * 4);
  CHECK(copy.dstPitch == 50 * 4);
  CHECK(fake::state().launches.at(0).args.d == f.args.matrices[OperandRole::d]);

  f.args.matrices[OperandRole::c] = f.args.matrices[OperandRole::d];
  CHECK(plan.run(f.args) == 0);
  f.args.matrices[OperandRole::c] = nullptr;
  CHECK(plan.run(f.args) == 0);
  f.args.matrices[OperandRole::c] = Fixture::pointer(0x50001);  // never read
  f.args.beta = to_scale(f.problem.type, 0);
  CHECK(plan.run(f.args) == 0);
  CHECK(fake::state().copies.size() == 1);
  CHECK(fake::state().launches.size() == 4);
}

TEST_CASE(
    "kernels of a batch are told its entries and their distances, and a batch of none launches nothing", "[operand]") {
  Fixture f;
  f.problem = batched(f.problem, 7);
  f.launch().a.entry_stride = 2048;
  f.launch().d.entry_stride = 1536;
  REQUIRE(f.plan().run(f.args) == 0);
  const GemmArgs& more = fake::state().launches.at(0).args;
  CHECK(more.batch == 7);
  CHECK(more.stride_a == 2048);
  CHECK(more.stride_b == 0);
  CHECK(more.stride_c == 1536);
  f.problem.batch = 0;
  CHECK(f.plan().run(RunArgs{}) == 0);
  CHECK(fake::state().launches.size() == 1);
}

TEST_CASE("all entries' C are copied to another D", "[operand]") {
  Fixture f;
  f.problem.beta = BetaClass::any;
  f.problem = batched(f.problem, 3);
  f.args.matrices[OperandRole::c] = Fixture::pointer(0x50000);
  REQUIRE(f.plan().run(f.args) == 0);
  REQUIRE(fake::state().copies.size() == 1);  // packed: as one matrix
  CHECK(fake::state().copies[0].Height == 3 * 32);
  f.problem.stride_c += 4;
  REQUIRE(f.plan().run(f.args) == 0);
  REQUIRE(fake::state().copies.size() == 4);
  CHECK(fake::state().copies[3].Height == 32);
  CHECK(fake::state().copies[3].srcDevice == 0x50000 + 2 * 4 * (32 * 48 + 4));
}

TEST_CASE("D of a batch may lie beside what is read in rows of one stride, if all its entries do", "[operand]") {
  Fixture f;  // 32 x 48, f32
  f.problem.beta = BetaClass::any;
  f.problem.epilogue.activation = Activation::relu;
  f.problem.ldc = 200;
  f.problem = batched(f.problem, 2);
  const auto run = [&](std::uintptr_t behind_d) {
    const Plan plan = f.plan();
    f.args.matrices[OperandRole::c] = Fixture::pointer(0x30000 + behind_d);
    return plan.run(f.args);
  };
  CHECK(run(4 * 48) == 0);
  f.problem.stride_c = 48;  // side by side
  CHECK(run(4 * 48) == Plan::kOverlap);
  CHECK(run(4 * 96) == 0);
  CHECK(run(4 * 152) == Plan::kOverlap);
  f.problem.stride_c = 200 * 32 + 4;  // rows of entries in different places
  CHECK(run(4 * 48) == Plan::kOverlap);
}

TEST_CASE("a C that is read must be aligned, and D must be there", "[operand]") {
  Fixture f;
  f.problem.beta = BetaClass::any;
  const Plan plan = f.plan();
  f.args.matrices[OperandRole::c] = Fixture::pointer(0x50002);
  CHECK(plan.run(f.args) == Plan::kMisaligned);
  f.args.matrices[OperandRole::c] = Fixture::pointer(0x50000);
  f.args.matrices[OperandRole::d] = nullptr;
  CHECK(plan.run(f.args) == Plan::kNullPointer);
  CHECK(fake::state().launches.empty());
}

TEST_CASE("D must lie apart from what is read, but beside it in rows of one stride it may", "[operand]") {
  Fixture f;  // 32 x 48
  f.problem.beta = BetaClass::any;
  f.problem.epilogue.bias = Bias::along_m;
  f.problem.ldb = f.problem.ldc = 200;
  f.args.matrices[OperandRole::bias] = Fixture::pointer(0x60000);
  const Plan plan = f.plan();
  const auto run = [&](OperandRole role, std::uintptr_t address) {
    RunArgs args = f.args;
    args.matrices[role] = Fixture::pointer(address);
    return plan.run(args);
  };
  const std::uintptr_t d = reinterpret_cast<std::uintptr_t>(f.args.matrices[OperandRole::d]);
  const std::uintptr_t end = d + 4 * (31 * 200 + 48);
  for (const OperandRole role : {OperandRole::a, OperandRole::b, OperandRole::c, OperandRole::bias}) {
    CHECK(run(role, end - 16) == Plan::kOverlap);
    CHECK(run(role, (end + 15) / 16 * 16) == 0);
  }
  CHECK(run(OperandRole::a, d) == Plan::kOverlap);
  CHECK(run(OperandRole::bias, d + 64) == Plan::kOverlap);
  CHECK(run(OperandRole::c, d) == 0);
  CHECK(run(OperandRole::c, d + 16) == Plan::kOverlap);
  CHECK(run(OperandRole::c, d + 4 * 48) == 0);   // columns 48 .. 95 of a matrix whose first are D
  CHECK(run(OperandRole::c, d + 4 * 152) == 0);  // the last ones
  CHECK(run(OperandRole::c, d + 4 * 156) == Plan::kOverlap);
  CHECK(run(OperandRole::c, d - 4 * 48) == 0);
  CHECK(run(OperandRole::c, d - 4 * 44) == Plan::kOverlap);
}

TEST_CASE("a copy that fails is the run's result, and nothing is launched", "[operand]") {
  Fixture f;
  f.problem.beta = BetaClass::any;
  f.args.matrices[OperandRole::c] = Fixture::pointer(0x50000);
  fake::state().failures["memcpy_2d_async"] = CUDA_ERROR_INVALID_VALUE;
  CHECK(f.plan().run(f.args) == CUDA_ERROR_INVALID_VALUE);
  CHECK(fake::state().launches.empty());
}

TEST_CASE(
    "a kernel with an epilogue gets C and the bias behind the other arguments, and nothing is copied", "[operand]") {
  Fixture f;
  f.problem.beta = BetaClass::any;
  f.problem.epilogue.bias = Bias::along_n;
  f.args.matrices[OperandRole::c] = Fixture::pointer(0x50000);
  f.args.matrices[OperandRole::bias] = Fixture::pointer(0x60004);  // aligned to an element is enough
  const Plan plan = f.plan();
  REQUIRE(plan.run(f.args) == 0);
  CHECK(count("memcpy_2d_async") == 0);
  REQUIRE(fake::state().launches.size() == 1);
  const fake::LaunchRecord& launched = fake::state().launches[0];
  CHECK(launched.args.c == f.args.matrices[OperandRole::c]);
  CHECK(launched.args.bias == f.args.matrices[OperandRole::bias]);
  CHECK(launched.args.d == f.args.matrices[OperandRole::d]);

  f.args.matrices[OperandRole::c] = nullptr;  // in place
  REQUIRE(plan.run(f.args) == 0);
  CHECK(fake::state().launches[1].args.d == f.args.matrices[OperandRole::d]);

  f.args.matrices[OperandRole::bias] = Fixture::pointer(0x60002);
  CHECK(plan.run(f.args) == Plan::kMisaligned);
  f.args.matrices[OperandRole::bias] = nullptr;
  CHECK(plan.run(f.args) == Plan::kNullPointer);
  CHECK(fake::state().launches.size() == 2);
}

}  // namespace tilesmith::runtime
