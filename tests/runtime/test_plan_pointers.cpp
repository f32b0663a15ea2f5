// Which pointers a run takes.
#include <algorithm>

#include "tests/catch.hpp"
#include "tests/runtime/planned_family.hpp"

namespace tilesmith::runtime {

TEST_CASE("with α = 0 or K = 0 the kernel is told K = 0 and A and B may be anything") {
  Fixture f;
  f.args.matrices[OperandRole::a] = nullptr;
  f.args.matrices[OperandRole::b] = Fixture::pointer(0x20001);
  SECTION("alpha") { f.args.alpha = to_scale(f.problem.type, -0.0); }
  SECTION("k") { f.problem = packed_problem({f.problem.type, {}}, 32, 48, 0); }
  CHECK(f.plan().run(f.args) == 0);
  REQUIRE(fake::state().launches.size() == 1);
  CHECK(fake::state().launches[0].args.k == 0);
}

TEST_CASE("with M = 0 or N = 0 nothing is launched and no pointer is looked at") {
  Fixture f;
  f.problem = packed_problem({f.problem.type, {}}, 0, 48, 64);
  const Plan plan = f.plan();
  CHECK(plan.workspace_bytes() == 0);
  CHECK(plan.run(RunArgs{}) == 0);
  CHECK(fake::state().launches.empty());
}

TEST_CASE("pointers that are null or break the problem's alignment are refused") {
  Fixture f;
  const Plan plan = f.plan();
  for (void** operand : {&f.args.matrices[OperandRole::a], &f.args.matrices[OperandRole::b]}) {
    void* const right = *operand;
    *operand = static_cast<char*>(right) + 8;
    CHECK(plan.run(f.args) == Plan::kMisaligned);
    *operand = nullptr;
    CHECK(plan.run(f.args) == Plan::kNullPointer);
    *operand = right;
  }
  f.args.matrices[OperandRole::d] = Fixture::pointer(0x30002);
  CHECK(plan.run(f.args) == Plan::kMisaligned);
  CHECK(fake::state().launches.empty());
  f.problem.align_bytes = 2;
  CHECK(f.plan().run(f.args) == Plan::kMisaligned);  // C's elements have four
  f.args.matrices[OperandRole::d] = Fixture::pointer(0x30004);
  f.args.matrices[OperandRole::a] = Fixture::pointer(0x10002);
  CHECK(f.plan().run(f.args) == 0);
}

TEST_CASE("a matrix that does not start on an element is refused, of every type pair at its least alignment") {
  for (const TypePair& type : type_pairs()) {
    INFO(type.name);
    Fixture f;
    f.problem = packed_problem({type, {}}, 32, 48, 64);
    f.args.alpha = to_scale(type, 2);
    f.problem.align_bytes = int(std::min(size_bytes(type.a), size_bytes(type.output)));
    const Plan plan = f.plan();
    const auto moved = [&](std::size_t a, std::size_t b, std::size_t c) {
      RunArgs args = f.args;
      args.matrices[OperandRole::a] = Fixture::pointer(0x10000 + a);
      args.matrices[OperandRole::b] = Fixture::pointer(0x20000 + b);
      args.matrices[OperandRole::d] = Fixture::pointer(0x30000 + c);
      return plan.run(args);
    };
    const std::size_t operand = size_bytes(type.a), output = size_bytes(type.output);
    // One step of align_bytes, or of a byte, off the element; bytes fit everywhere.
    if (output > 1) {
      CHECK(moved(0, 0, output / 2) == Plan::kMisaligned);
      CHECK(moved(0, 0, 1) == Plan::kMisaligned);
    }
    if (operand > 1) {
      CHECK(moved(operand / 2, 0, 0) == Plan::kMisaligned);
      CHECK(moved(0, operand / 2, 0) == Plan::kMisaligned);
    }
    CHECK(fake::state().launches.empty());
    CHECK(moved(operand, operand, output) == 0);
  }
}

}  // namespace tilesmith::runtime
