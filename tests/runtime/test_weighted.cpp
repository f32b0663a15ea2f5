// Problems with weights through the library, without a device.
#include <cstring>

#include "kernels/problem/weights.hpp"
#include "runtime/interface/tilesmith_weights.h"
#include "tests/catch.hpp"
#include "tests/runtime/failure_of.hpp"
#include "tests/runtime/library_fixture.hpp"
#include "tests/runtime/planned_family.hpp"

using namespace tilesmith;

namespace {

namespace fake = runtime::fake;
using runtime::fake::address;
using runtime::fake::open_stored_in_c;
using LibraryOfWeights = runtime::fake::LibraryFixture;

}  // namespace

TEST_CASE("a problem with weights in C has their text", "[api][weights]") {
  const LibraryOfWeights fixture;
  const auto line = [] { return std::string(tilesmith_last_error()); };
  const char* const where = "f16f32f16 NT 1 1 64 weights=u4_g64+zeros";
  db::Store::open(fixture.path("generic.db"))
      .record_build(fixture.build(where, generic_config(fixture.target(fixture.problem(where)))));
  tilesmith_library* const library = open_stored_in_c(fixture.path("generic.db"));
  const auto refused = [&](tilesmith_problem problem, const char* weights, const char* why) {
    std::strncpy(problem.weights, weights, sizeof problem.weights);
    char text[512];
    CHECK(tilesmith_problem_text(&problem, text, sizeof text) == TILESMITH_BAD_ARGUMENT);
    INFO(line());
    CHECK(line().find(why) != std::string::npos);
  };
  tilesmith_problem problem = TILESMITH_PROBLEM_OF("f16f32f16", "NT", 16, 24, 128);
  refused(problem, "s4_g16", "weights is 's4_g16': expected s4, u4, s8, e4m3, e2m1 or nf4, then _g32");
  refused(problem, "nf4_g64+zeros",
      "weights is 'nf4_g64+zeros': expected s4, u4, s8, e4m3, e2m1 or nf4, then _g32, _g64, _g128 or _column, then +zeros (not of e2m1, nf4), +f32");
  refused(problem, "s4_g64_and_a_text_without_end", "weights is 's4_g64_and_a_text_withou': expected s4");
  refused(TILESMITH_PROBLEM_OF("f16f32f16", "NT", 16, 24, 100), "s4_g64", "K is 100: expected a multiple of 64");
  refused(TILESMITH_PROBLEM_OF("f16f32f16", "NN", 16, 24, 128), "s4_g64", "expected transposes NT or TT");
  refused(TILESMITH_PROBLEM_OF("f16f32", "NT", 16, 24, 128), "s4_g64", "expected type f16f32f16 or bf16f32bf16");
  problem = fake::problem_in_c("f16f32f16 NT 16 24 128 weights=u4_g64+zeros");
  tilesmith_run run = fake::run_in_c(0x10000000, 0x20000000, 0x30000000);
  run.operands[TILESMITH_WEIGHT_SCALES] = address(0x40000002);
  const auto gemm = [&](std::uintptr_t zeros) {
    run.operands[TILESMITH_WEIGHT_ZEROS] = address(zeros);
    return tilesmith_gemm(library, nullptr, &problem, &run);
  };
  CHECK(gemm(0) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("weight_scales, weight_zeros") != std::string::npos);
  CHECK(gemm(0x50000001) == TILESMITH_MISALIGNED);
  CHECK(gemm(0x30000010) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("the output overlaps") != std::string::npos);
  CHECK(fake::state().launches.empty());
  REQUIRE(gemm(0x50000000) == TILESMITH_OK);
  const GemmArgs coded = fake::state().launches.at(0).args;
  CHECK(coded.metadata == nullptr);
  CHECK(coded.scales == address(0x40000002));
  CHECK(coded.zeros == address(0x50000000));
  run.size =
      offsetof(tilesmith_run, operands) + TILESMITH_WEIGHT_SCALES * sizeof(void*);  // of a program without weights
  CHECK(gemm(0x50000000) == TILESMITH_BAD_ARGUMENT);
  problem.ldb = 256;
  tilesmith_plan* plan = nullptr;
  CHECK(tilesmith_plan_create(library, &problem, &plan) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("ldb is 256: expected K (128)") != std::string::npos);
  tilesmith_close(library);
}

TEST_CASE("a mixture of experts with weights in C has ends and an expert's weights for each group",
    "[api][weights][groups]") {
  const LibraryOfWeights fixture;
  const char* const where = "bf16f32bf16 NT 1 1 64 batch=1 batch_mode=grouped weights=u4_g64+zeros";
  db::Store::open(fixture.path("generic.db"))
      .record_build(fixture.build(where, generic_config(fixture.target(fixture.problem(where)))));
  tilesmith_library* const library = open_stored_in_c(fixture.path("generic.db"));
  const tilesmith_problem experts =
      fake::problem_in_c("bf16f32bf16 NT 16 24 128 batch=4 batch_mode=grouped weights=u4_g64+zeros");
  CHECK((experts.batch == 4 && experts.batch_mode == TILESMITH_GROUPED && experts.stride_b == TILESMITH_PACKED));
  tilesmith_run run = fake::run_in_c(0x10000000, 0x20000000, 0x30000000);
  run.operands[TILESMITH_WEIGHT_SCALES] = address(0x40000000);
  run.operands[TILESMITH_WEIGHT_ZEROS] = address(0x50000000);
  CHECK(tilesmith_gemm(library, nullptr, &experts, &run) == TILESMITH_BAD_ARGUMENT);  // ends are missing
  run.operands[TILESMITH_OFFSETS] = address(0x60000000);
  REQUIRE(tilesmith_gemm(library, nullptr, &experts, &run) == TILESMITH_OK);
  const auto& launch = fake::state().launches.at(0);
  CHECK(launch.args.ends == address(0x60000000));
  CHECK(launch.args.scales == address(0x40000000));
  CHECK(launch.args.zeros == address(0x50000000));
  tilesmith_close(library);
}

TEST_CASE("weights are not read where alpha is 0, and may then be anything", "[operand][weights]") {
  runtime::Fixture f;
  KernelSignature signature{*find_type_pair("bf16f32bf16"), {false, true}};
  signature.weights = *parse_weights("s4_g32");
  f.problem = packed_problem(signature, 32, 48, 64);
  CHECK(f.plan().run(f.args) == runtime::Plan::kNullPointer);
  f.args.set(OperandRole::weight_scales, runtime::Fixture::pointer(0x40000));
  CHECK(f.plan().run(f.args) == 0);
  f.args.set(OperandRole::weight_scales, nullptr);
  f.args.alpha = runtime::to_scale(f.problem.type, 0);
  CHECK(f.plan().run(f.args) == 0);
  CHECK(fake::state().launches.size() == 2);
  CHECK(fake::state().launches[1].args.k == 0);
}

TEST_CASE("B of weights is its blocks, and scales a row for each group", "[operand][weights]") {
  const auto matrix_of = [](const char* weights, OperandRole role, std::int64_t n, std::int64_t k) {
    KernelSignature signature{*find_type_pair("f16f32f16"), {false, true}};
    signature.weights = *parse_weights(weights);
    return operand(packed_problem(signature, 8, n, k), role);
  };
  CHECK(matrix_of("s4_g32", OperandRole::b, 17, 96).bytes() == 2 * 2 * 512);
  CHECK(matrix_of("u4_column", OperandRole::b, 16, 64).bytes() == 512);
  CHECK(matrix_of("s8_column", OperandRole::b, 16, 65).bytes() == 3 * 512);
  CHECK(matrix_of("e4m3_g128", OperandRole::b, 4096, 4096).bytes() == 4096 * 4096);
  const OperandMatrix scales = matrix_of("s4_g32+f32", OperandRole::weight_scales, 17, 96);
  CHECK((scales.rows == 3 && scales.cols == 17 && scales.element == Scalar::f32));
  CHECK(matrix_of("s4_column", OperandRole::weight_scales, 17, 96).bytes() == 17 * 2);
  std::string error;
  const auto experts = parse_problem("f16f32f16 NT 8 17 96 batch=5 batch_mode=grouped weights=s4_g32+zeros", error);
  REQUIRE(experts);
  CHECK(experts->stride_b == 2 * 2 * 1024);  // codes, with their padding
  CHECK(experts->b_bytes() == 5 * 2 * 2 * 512);
  CHECK(operand(*experts, OperandRole::weight_scales).bytes() == 5 * 3 * 17 * 2);
  CHECK(operand(*experts, OperandRole::weight_zeros).entry_stride == 3 * 17);
}
