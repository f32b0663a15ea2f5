#include <cuda.h>

#include <array>
#include <cstring>
#include <limits>

#include "tests/catch.hpp"
#include "tests/runtime/planned_family.hpp"

namespace tilesmith::runtime {
TEST_CASE("a plan launches its kernel with the problem's shape and the caller's operands") {
  Fixture f;
  f.launch().dynamic_smem_bytes = 1024;
  f.args.stream = reinterpret_cast<CUstream>(0x77);
  const Plan plan = f.plan();
  CHECK(plan.workspace_bytes() == 0);
  CHECK(plan.run(f.args) == 0);
  REQUIRE(fake::state().launches.size() == 1);
  const fake::LaunchRecord& launched = fake::state().launches[0];
  CHECK(launched.grid.x == 12);
  CHECK(launched.block.x == 128);
  CHECK(launched.smem_bytes == 1024);
  CHECK(launched.stream == f.args.stream);
  CHECK(fake::count("launch_kernel") == 1);
  CHECK(launched.args.a == f.args.matrices[OperandRole::a]);
  CHECK(launched.args.b == f.args.matrices[OperandRole::b]);
  CHECK(launched.args.d == f.args.matrices[OperandRole::d]);
  CHECK(launched.args.workspace == nullptr);
  CHECK(launched.args.lda == 64);
  CHECK(launched.args.ldb == 48);
  CHECK(launched.args.m == 32);
  CHECK(launched.args.n == 48);
  CHECK(launched.args.k == 64);
  CHECK(launched.args.alpha.f32 == 2);
  CHECK(launched.args.beta.f32 == 0.5F);
}

TEST_CASE("run only launches: no other driver call is made") {
  Fixture f;
  const Plan plan = f.plan();
  fake::state().calls.clear();
  CHECK(plan.run(f.args) == 0);
  CHECK(fake::state().calls == std::vector<std::string>{"launch_kernel"});
}

TEST_CASE("operands that live in the workspace are found at their offsets") {
  Fixture f;
  f.sequence().workspace_bytes = 8192;
  f.sequence().launches.push_back(f.launch());
  f.launch(0).entry = "pack";
  f.launch(0).d = {true, 4096, 32};
  f.launch(1).a = {true, 4096, 32};
  const Plan plan = f.plan();
  CHECK(plan.workspace_bytes() == 8192);
  CHECK(plan.run(f.args) == Plan::kMissingWorkspace);
  f.args.workspace = Fixture::pointer(0x40080);
  CHECK(plan.run(f.args) == Plan::kMissingWorkspace);
  CHECK(fake::state().launches.empty());
  f.args.workspace = Fixture::pointer(0x40000);
  CHECK(plan.run(f.args) == 0);
  REQUIRE(fake::state().launches.size() == 2);
  CHECK(fake::state().launches[0].args.d == Fixture::pointer(0x41000));
  CHECK(fake::state().launches[0].args.ldc == 32);
  CHECK(fake::state().launches[1].args.a == Fixture::pointer(0x41000));
  CHECK(fake::state().launches[1].args.b == f.args.matrices[OperandRole::b]);
  CHECK(fake::state().launches[1].args.workspace == f.args.workspace);
}

TEST_CASE("a launch with a cluster says so to the driver") {
  Fixture f;
  f.launch().cluster.x = 2;
  CHECK(f.plan().run(f.args) == 0);
  CHECK(fake::count("launch_kernel_ex") == 1);
  CHECK(fake::state().launches.at(0).cluster.x == 2);
  CHECK(fake::state().launches.at(0).cluster.y == 1);
  CHECK(fake::state().launches.at(0).grid.x == 12);
}

TEST_CASE("a persistent grid is cut to the blocks that are resident, in clusters to those that the driver says fit") {
  Fixture f;
  f.launch().resident_blocks_per_sm = 1;
  fake::state().attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 5;
  CHECK(f.plan().run(f.args) == 0);
  CHECK(fake::state().launches.at(0).grid.x == 5);
  f.launch().cluster.x = 2;
  fake::state().active_clusters = 3;
  CHECK(f.plan().run(f.args) == 0);
  CHECK(fake::state().launches.at(1).grid.x == 6);
  fake::state().active_clusters = 100;
  CHECK(f.plan().run(f.args) == 0);
  CHECK(fake::state().launches.at(2).grid.x == 12);
  fake::state().failures["occupancy_max_active_clusters"] = CUDA_ERROR_INVALID_VALUE;
  CHECK_THROWS_AS(f.plan(), DeviceError);
}

TEST_CASE("a plan for fewer SMs than the device has makes a persistent grid of fewer blocks, and no other") {
  Fixture f;  // 12 blocks
  fake::state().attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 5;
  const auto blocks = [&](int most_sms) {
    CHECK(f.plan(most_sms).run(f.args) == 0);
    return fake::state().launches.back().grid.x;
  };
  CHECK(blocks(1) == 12);
  f.launch().resident_blocks_per_sm = 2;
  CHECK(blocks(0) == 10);
  CHECK(blocks(1) == 2);
  CHECK(blocks(9) == 10);
  f.launch().cluster.x = 2;
  fake::state().active_clusters = 3;
  CHECK(blocks(0) == 6);
  CHECK(blocks(2) == 4);
  CHECK(blocks(1) == 2);
  CHECK(blocks(9) == 6);
  f.launch().resident_blocks_per_sm = 1;
  CHECK(blocks(4) == 4);
  CHECK(blocks(1) == 2);  // no less than a cluster
}

TEST_CASE(
    "a launch that overlaps the one before says so to the driver, and is an ordinary one where that is not captured") {
  Fixture f;
  f.sequence().launches.push_back(f.launch());
  f.launch(1).overlaps_previous = true;
  CHECK(f.plan().run(f.args) == 0);
  REQUIRE(fake::state().launches.size() == 2);
  CHECK_FALSE(fake::state().launches[0].overlaps);
  CHECK(fake::state().launches[1].overlaps);
  CHECK(fake::state().launches[1].cluster.x == 1);

  Driver old = fake::table();
  old.version = 12020;
  const ScopedDriver scoped(old);
  CHECK(f.plan().run(f.args) == 0);
  CHECK(fake::state().launches.size() == 4);
  CHECK_FALSE(fake::state().launches.at(3).overlaps);
}

TEST_CASE("neighbours are placed beside each other by a launch that overlaps the one before, and by no other") {
  Fixture f;
  f.sequence().launches.push_back(f.launch());
  f.launch(0).neighbours = f.launch(1).neighbours = 2;
  f.launch(0).overlaps_previous = f.launch(1).overlaps_previous = true;
  const auto clusters = [&] {
    CHECK(f.plan().run(f.args) == 0);
    const auto& launches = fake::state().launches;
    return std::array{launches.at(launches.size() - 2).cluster.x, launches.back().cluster.x};
  };
  CHECK(clusters() == std::array{2U, 2U});
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_ACTIVE;  // behind nothing: the first comes as any other
  CHECK(clusters() == std::array{1U, 2U});

  {
    Driver old = fake::table();
    old.version = 12020;
    const ScopedDriver scoped(old);
    CHECK(clusters() == std::array{1U, 1U});
  }

  // Where they cannot be a cluster: of a grid that does not split, in the place of another, of a grid that is cut.
  f.launch(1).neighbours = 5;
  CHECK(clusters()[1] == 1);
  f.launch(1).neighbours = 2;
  f.launch(1).cluster.x = 4;
  CHECK(clusters()[1] == 4);
  f.launch(1).cluster.x = 1;
  f.launch(1).resident_blocks_per_sm = 1;
  fake::state().attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 5;
  CHECK(clusters()[1] == 1);
}

TEST_CASE(
    "a launch that overlaps the one before asks for so much shared memory that its blocks spread over the device") {
  Fixture f;
  f.sequence().launches.push_back(f.launch());  // 12 blocks
  f.launch(1).overlaps_previous = true;
  f.launch(1).dynamic_smem_bytes = 1000;
  auto& attributes = fake::state().attributes;
  attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 12;
  attributes[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] = 30000;
  attributes[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] = 29000;
  attributes[CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK] = 1000;
  const auto smem_of_second = [&] {
    CHECK(f.plan().run(f.args) == 0);
    return fake::state().launches.back().smem_bytes;
  };
  CHECK(smem_of_second() == 14001);  // with what the system keeps, more than half of an SM's
  attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 6;
  CHECK(smem_of_second() == 9001);
  attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 1;
  CHECK(smem_of_second() == 1308);
  f.launch(1).resident_blocks_per_sm = 2;  // persistent: no more than that
  CHECK(smem_of_second() == 9001);
  f.launch(1).resident_blocks_per_sm = 0;
  f.launch(1).dynamic_smem_bytes = 20000;
  CHECK(smem_of_second() == 20000);
  f.launch(1).dynamic_smem_bytes = 0;  // a pass over memory: the more of its blocks the better
  CHECK(smem_of_second() == 0);
}

TEST_CASE("α is read in the type pair's scale type") {
  Fixture f;
  f.problem = packed_problem({*find_type_pair("f64f64"), {}}, 32, 48, 64);
  f.args.alpha = to_scale(f.problem.type, 1e-300);  // its low 32 bits as a float would be another number
  CHECK(f.plan().run(f.args) == 0);
  CHECK(fake::state().launches.at(0).args.k == 64);
  f.args.alpha = to_scale(f.problem.type, 2);  // all of its low 32 bits are zero
  CHECK(f.plan().run(f.args) == 0);
  CHECK(fake::state().launches.at(1).args.k == 64);
}

TEST_CASE("a failing launch ends the run with the driver's code") {
  Fixture f;
  f.sequence().launches.push_back(f.launch());
  const Plan plan = f.plan();
  fake::state().failures["launch_kernel"] = CUDA_ERROR_INVALID_VALUE;
  CHECK(plan.run(f.args) == CUDA_ERROR_INVALID_VALUE);
  CHECK(fake::state().launches.size() == 1);
}

TEST_CASE("a plan that could never run is refused when it is made") {
  Fixture f;
  SECTION("the kernel is missing") {
    fake::state().missing_kernel = "gemm";
    CHECK_THROWS_AS(f.plan(), DeviceError);
  }
  SECTION("its registers allow fewer threads") {
    fake::state().func_attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 96;
    CHECK_THROWS_AS(f.plan(), DeviceError);
  }
  SECTION("the grid is too large") {
    f.launch().grid.y = 65536;
    CHECK_THROWS_AS(f.plan(), DeviceError);
  }
  SECTION("the family refuses the problem") {
    PlannedFamily::refused = "on principle";
    CHECK_THROWS_AS(f.plan(), std::invalid_argument);
  }
  SECTION("the problem is not well formed") {
    f.problem.lda = 1;
    CHECK_THROWS_AS(f.plan(), std::invalid_argument);
  }
}

TEST_CASE("scales are rounded to f32, kept as f64, and exact as s32 or refused") {
  const TypePair& f32 = *find_type_pair("f16f32");
  const TypePair& f64 = *find_type_pair("f64f64");
  const TypePair& s32 = *find_type_pair("s8s32");
  CHECK(to_scale(f32, 0.1).f32 == 0.1F);
  CHECK(to_scale(f64, 0.1).f64 == 0.1);
  CHECK(to_scale(s32, -3).s32 == -3);
  CHECK(to_scale(s32, -2147483648.0).s32 == std::numeric_limits<int>::min());
  CHECK(to_scale(s32, 2147483647.0).s32 == std::numeric_limits<int>::max());
  CHECK_THROWS_AS(to_scale(s32, 2147483648.0), std::invalid_argument);
  CHECK_THROWS_AS(to_scale(s32, 0.5), std::invalid_argument);
  CHECK_THROWS_AS(to_scale(s32, std::numeric_limits<double>::quiet_NaN()), std::invalid_argument);
  CHECK_THROWS_AS(to_scale(s32, std::numeric_limits<double>::infinity()), std::invalid_argument);

  // The bytes beyond the member in use are zero, so that equal scales are equal bytes.
  const Scale one = to_scale(f32, 1);
  unsigned char bytes[sizeof(Scale)];
  std::memcpy(bytes, &one, sizeof bytes);
  for (std::size_t i = sizeof(float); i < sizeof bytes; ++i) CHECK(bytes[i] == 0);
}

}  // namespace tilesmith::runtime
