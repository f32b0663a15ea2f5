// Plans whose kernels copy or store by tensor maps.
#include <cuda.h>

#include "tests/catch.hpp"
#include "tests/runtime/planned_family.hpp"

namespace tilesmith::runtime {

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
  void* const first_a = f.args.matrices[OperandRole::a];
  CHECK(plan.run(f.args) == 0);
  f.args.matrices[OperandRole::a] = Fixture::pointer(0x50000);
  CHECK(plan.run(f.args) == 0);
  CHECK(fake::state().addresses == std::vector<void*>{first_a, f.args.matrices[OperandRole::b],
                                       f.args.matrices[OperandRole::a], f.args.matrices[OperandRole::b]});
  CHECK(fake::state().maps.size() == 2);
}

TEST_CASE("rows of gated pairs have a map of runs, halves and steps") {
  for (const PairedRows pairs : {PairedRows::split, PairedRows::interleaved}) {
    Fixture f;
    TensorBoxes boxes = f.boxes();
    boxes.b = {640, 1000, 64, 64};
    boxes.b.pairs = pairs;
    f.launch().boxes = boxes;
    const Plan plan = f.plan();
    REQUIRE(fake::state().maps.size() == 2);
    const fake::Map& b = fake::state().maps[1];
    const std::uint64_t row = std::uint64_t(f.launch().b.row_stride) * 2;
    const bool split = pairs == PairedRows::split;
    CHECK(b.sizes == std::vector<std::uint64_t>{1000, 8, 2, 40});
    CHECK(b.strides == (split ? std::vector<std::uint64_t>{row, 320 * row, 8 * row}
                              : std::vector<std::uint64_t>{2 * row, row, 16 * row}));
    CHECK(b.box == std::vector<std::uint64_t>{64, 8, 2, 4});
  }
}

TEST_CASE("codes of weights have a map of words, blocks and strips, whatever B's row stride is") {
  Fixture f;
  TensorBoxes boxes = f.boxes();
  boxes.b = {13, 9, 8, 4};
  boxes.b.code_blocks = true;
  f.launch().boxes = boxes;
  const Plan plan = f.plan();
  REQUIRE(fake::state().maps.size() == 2);
  const fake::Map& b = fake::state().maps[1];
  CHECK(b.sizes == std::vector<std::uint64_t>{64, 9, 13});
  CHECK(b.strides == std::vector<std::uint64_t>{512, 9 * 512});
  CHECK(b.box == std::vector<std::uint64_t>{64, 4, 8});
  CHECK(b.type == CU_TENSOR_MAP_DATA_TYPE_UINT64);
  CHECK(b.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE);
}

TEST_CASE("C has a map of its own where it is stored by boxes, also where nothing is read") {
  Fixture f;
  TensorBoxes boxes = f.boxes();
  boxes.d = TensorBox{500, 600, 16, 32};
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
    CHECK(fake::state().addresses == std::vector<void*>{f.args.matrices[OperandRole::a],
                                         f.args.matrices[OperandRole::b], f.args.matrices[OperandRole::d]});
  }
  SECTION("α = 0") {
    const Plan plan = f.plan();
    f.args.alpha = to_scale(f.problem.type, 0);
    CHECK(plan.run(f.args) == 0);
    CHECK(fake::state().addresses == std::vector<void*>{f.args.matrices[OperandRole::d]});
  }
  SECTION("K = 0") {
    f.problem.k = 0;
    const Plan plan = f.plan();
    CHECK(fake::state().maps.size() == 1);
    CHECK(plan.run(f.args) == 0);
    CHECK(fake::state().addresses == std::vector<void*>{f.args.matrices[OperandRole::d]});
  }
}

TEST_CASE("maps of a batch have a third coordinate, of one matrix where all entries read it") {
  Fixture f;
  TensorBoxes boxes = f.boxes();
  boxes.a.matrices = 5;
  boxes.b.matrices = 1;
  boxes.d = TensorBox{500, 600, 16, 32, 5};
  f.problem = batched(f.problem, 5);
  f.launch().boxes = boxes;
  f.launch().a.entry_stride = 4096;
  f.launch().d.entry_stride = 2048;
  const Plan plan = f.plan();
  REQUIRE(fake::state().maps.size() == 3);
  CHECK(fake::state().maps[0].matrices == 5);
  CHECK(fake::state().maps[0].matrix_bytes == 4096 * 2);
  CHECK(fake::state().maps[0].row_bytes == 64 * 2);
  CHECK(fake::state().maps[1].matrices == 1);
  CHECK(fake::state().maps[1].matrix_bytes > 0);
  CHECK(fake::state().maps[2].matrices == 5);
  CHECK(fake::state().maps[2].matrix_bytes == 2048 * 4);
}

TEST_CASE("operands of tf32 are rounded by the tensor copies, all others moved as they are") {
  const std::pair<const char*, CUtensorMapDataType> cases[] = {{"tf32f32", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32},
      {"bf16f32", CU_TENSOR_MAP_DATA_TYPE_UINT16}, {"s8s32", CU_TENSOR_MAP_DATA_TYPE_UINT8},
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

TEST_CASE("the map of a matrix of one row has a stride that the driver takes, and ends with the row") {
  const Fixture f;
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, *limits_for_arch("sm_90a")};
  const Problem odd = packed_problem(target, 1, 96, 199);
  const Config config = find_family("wgmma")->initial_configs(target, as_planned(odd)).at(0);
  CHECK(config.at("pack") == 0);
  const std::string ptx = ".version 7.0";
  const Plan plan(std::make_shared<const Module>(std::as_bytes(std::span(ptx))), config, odd);
  REQUIRE(fake::state().maps.size() == 2);
  const fake::Map& a = fake::state().maps[0];
  CHECK(a.rows == 1);
  CHECK(a.cols == 199);
  CHECK(a.row_bytes == 400);
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

}  // namespace tilesmith::runtime
