#include <cuda.h>

#include <cstring>
#include <limits>

#include "runtime/plan.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/fake_driver.hpp"

namespace tilesmith::runtime {
namespace {

/// A family of one config whose launches the test sets.
class PlannedFamily final : public Family {
 public:
  inline static LaunchSequence sequence;
  inline static std::optional<std::string> refused;

  std::string_view name() const override { return "planned"; }
  std::string_view summary() const override { return "launches that a test wrote"; }
  bool supports(const KernelTarget&) const override { return true; }
  std::vector<Parameter> parameters(const KernelTarget&) const override { return {}; }
  std::vector<Rule> rules(const KernelTarget&) const override { return {}; }
  std::optional<std::string> refusal(const Config&, const Problem&) const override { return refused; }
  LaunchSequence launches(const Config&, const Problem&) const override { return sequence; }
  std::string source(const Config&, const KernelTarget&) const override { return {}; }
};

class Fixture {
 public:
  Fixture() {
    if (find_family("planned") == nullptr) register_family(std::make_unique<PlannedFamily>());
    PlannedFamily::refused.reset();
    PlannedFamily::sequence = {};
    Launch launch;
    launch.grid.x = 12;
    launch.block.x = 128;
    launch.a.row_stride = 64;
    launch.b.row_stride = 48;
    launch.c.row_stride = 48;
    PlannedFamily::sequence.launches = {launch};
    args.a = pointer(0x10000);
    args.b = pointer(0x20000);
    args.c = pointer(0x30000);
    args.alpha = to_scale(problem.type, 2);
    args.beta = to_scale(problem.type, 0.5);
  }

  static void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }
  Launch& launch(std::size_t index = 0) { return PlannedFamily::sequence.launches[index]; }
  LaunchSequence& sequence() { return PlannedFamily::sequence; }
  static TensorBoxes boxes() { return {{500, 1000, 128, 64}, {1000, 600, 64, 32}}; }
  Plan plan() const {
    const std::string ptx = ".version 7.0";
    return Plan(std::make_shared<const Module>(std::as_bytes(std::span(ptx))), Config("planned", {}), problem);
  }

 private:
  fake::FakeDriver driver_;

 public:
  Problem problem = packed_problem(*find_type_pair("f16f32"), {}, 32, 48, 64);
  RunArgs args;
};

}  // namespace

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
  CHECK(launched.args.a == f.args.a);
  CHECK(launched.args.b == f.args.b);
  CHECK(launched.args.c == f.args.c);
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
  f.launch(0).c = {true, 4096, 32};
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
  CHECK(fake::state().launches[0].args.c == Fixture::pointer(0x41000));
  CHECK(fake::state().launches[0].args.ldc == 32);
  CHECK(fake::state().launches[1].args.a == Fixture::pointer(0x41000));
  CHECK(fake::state().launches[1].args.b == f.args.b);
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
  f.launch(1).dynamic_smem_bytes = 20000;
  CHECK(smem_of_second() == 20000);
  f.launch(1).dynamic_smem_bytes = 0;  // a pass over memory: the more of its blocks the better
  CHECK(smem_of_second() == 0);
}

TEST_CASE("a launch by tensor copies gets a map of each operand, made with the plan, with the pointers of the run") {
  Fixture f;
  f.launch().boxes = f.boxes();
  const Plan plan = f.plan();
  REQUIRE(fake::state().maps.size() == 2);
  const fake::Map& a = fake::state().maps[0];
  CHECK(reinterpret_cast<std::uintptr_t>(a.address) % 16 == 0);
  CHECK(a.cols == 1000);
  CHECK(a.rows == 500);
  CHECK(a.row_bytes == 64 * 2);
  CHECK(a.box_cols == 64);
  CHECK(a.box_rows == 128);
  CHECK(a.swizzle == CU_TENSOR_MAP_SWIZZLE_128B);
  CHECK(fake::state().maps[1].swizzle == CU_TENSOR_MAP_SWIZZLE_64B);
  const void* const first_a = f.args.a;
  CHECK(plan.run(f.args) == 0);
  f.args.a = Fixture::pointer(0x50000);
  CHECK(plan.run(f.args) == 0);
  CHECK(fake::state().addresses == std::vector<void*>{const_cast<void*>(first_a), const_cast<void*>(f.args.b),
                                                      const_cast<void*>(f.args.a), const_cast<void*>(f.args.b)});
  CHECK(fake::state().maps.size() == 2);
}

TEST_CASE("C has a map of its own where it is stored by boxes, also where nothing is read") {
  Fixture f;
  TensorBoxes boxes = f.boxes();
  boxes.c = TensorBox{500, 600, 16, 32};
  f.launch().boxes = boxes;
  SECTION("with operands") {
    const Plan plan = f.plan();
    REQUIRE(fake::state().maps.size() == 3);
    const fake::Map& c = fake::state().maps[2];
    CHECK(c.cols == 600);
    CHECK(c.rows == 500);
    CHECK(c.row_bytes == std::uint64_t(f.problem.ldc) * 4);
    CHECK(c.box_cols == 32);
    CHECK(c.box_rows == 16);
    CHECK(c.type == CU_TENSOR_MAP_DATA_TYPE_UINT32);
    CHECK(plan.run(f.args) == 0);
    CHECK(fake::state().addresses ==
          std::vector<void*>{const_cast<void*>(f.args.a), const_cast<void*>(f.args.b), f.args.c});
  }
  SECTION("α = 0") {
    const Plan plan = f.plan();
    f.args.alpha = to_scale(f.problem.type, 0);
    CHECK(plan.run(f.args) == 0);
    CHECK(fake::state().addresses == std::vector<void*>{f.args.c});
  }
  SECTION("K = 0") {
    f.problem.k = 0;
    const Plan plan = f.plan();
    CHECK(fake::state().maps.size() == 1);
    CHECK(plan.run(f.args) == 0);
    CHECK(fake::state().addresses == std::vector<void*>{f.args.c});
  }
}

TEST_CASE("operands of tf32 are rounded by the tensor copies, all others moved as they are") {
  const std::pair<const char*, CUtensorMapDataType> cases[] = {{"tf32f32", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32},
                                                               {"bf16f32", CU_TENSOR_MAP_DATA_TYPE_UINT16},
                                                               {"s8s32", CU_TENSOR_MAP_DATA_TYPE_UINT8},
                                                               {"e4m3f32", CU_TENSOR_MAP_DATA_TYPE_UINT8}};
  for (const auto& [pair, type] : cases) {
    Fixture f;
    f.problem.type = *find_type_pair(pair);
    f.launch().boxes = f.boxes();
    const Plan plan = f.plan();
    CHECK(fake::state().maps.at(0).type == type);
    CHECK(fake::state().maps.at(1).type == type);
  }
}

TEST_CASE("where nothing is read no map is touched, and what the driver says of a map is told") {
  Fixture f;
  f.launch().boxes = f.boxes();
  const Plan plan = f.plan();
  f.args.alpha = to_scale(f.problem.type, 0);
  CHECK(plan.run(f.args) == 0);
  CHECK(fake::state().addresses.empty());
  CHECK(fake::count("launch_kernel") == 1);
  f.args.alpha = to_scale(f.problem.type, 1);
  fake::state().failures["tensor_map_replace_address"] = CUDA_ERROR_INVALID_VALUE;
  CHECK(plan.run(f.args) == CUDA_ERROR_INVALID_VALUE);
  fake::state().failures["tensor_map_encode_tiled"] = CUDA_ERROR_INVALID_VALUE;
  CHECK_THROWS_AS(f.plan(), DeviceError);
  CHECK(fake::count("launch_kernel") == 1);
}

TEST_CASE("with α = 0 or K = 0 the kernel is told K = 0 and A and B may be anything") {
  Fixture f;
  f.args.a = nullptr;
  f.args.b = Fixture::pointer(0x20001);
  SECTION("alpha") { f.args.alpha = to_scale(f.problem.type, -0.0); }
  SECTION("k") { f.problem = packed_problem(f.problem.type, {}, 32, 48, 0); }
  CHECK(f.plan().run(f.args) == 0);
  REQUIRE(fake::state().launches.size() == 1);
  CHECK(fake::state().launches[0].args.k == 0);
}

TEST_CASE("α is read in the type pair's scale type") {
  Fixture f;
  f.problem = packed_problem(*find_type_pair("f64f64"), {}, 32, 48, 64);
  f.args.alpha = to_scale(f.problem.type, 1e-300);  // its low 32 bits as a float would be another number
  CHECK(f.plan().run(f.args) == 0);
  CHECK(fake::state().launches.at(0).args.k == 64);
  f.args.alpha = to_scale(f.problem.type, 2);  // all of its low 32 bits are zero
  CHECK(f.plan().run(f.args) == 0);
  CHECK(fake::state().launches.at(1).args.k == 64);
}

TEST_CASE("with M = 0 or N = 0 nothing is launched and no pointer is looked at") {
  Fixture f;
  f.problem = packed_problem(f.problem.type, {}, 0, 48, 64);
  const Plan plan = f.plan();
  CHECK(plan.workspace_bytes() == 0);
  CHECK(plan.run(RunArgs{}) == 0);
  CHECK(fake::state().launches.empty());
}

TEST_CASE("pointers that are null or break the problem's alignment are refused") {
  Fixture f;
  const Plan plan = f.plan();
  for (const void** operand : {&f.args.a, &f.args.b}) {
    const void* const right = *operand;
    *operand = static_cast<const char*>(right) + 8;
    CHECK(plan.run(f.args) == Plan::kMisaligned);
    *operand = nullptr;
    CHECK(plan.run(f.args) == Plan::kNullPointer);
    *operand = right;
  }
  f.args.c = Fixture::pointer(0x30002);
  CHECK(plan.run(f.args) == Plan::kMisaligned);
  CHECK(fake::state().launches.empty());
  f.problem.align_bytes = 2;
  CHECK(f.plan().run(f.args) == 0);
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
