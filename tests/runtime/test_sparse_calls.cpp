// 2:4 sparse operands at the library's door: what C says, what a plan asks of metadata.
#include <cstring>
#include <string>

#include "kernels/problem/sparsity.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/compile/cubin_info.hpp"
#include "runtime/interface/c_values.hpp"
#include "runtime/interface/sparse.hpp"
#include "runtime/interface/sparse_source.hpp"
#include "runtime/interface/tilesmith_sparse.h"
#include "tests/catch.hpp"
#include "tests/problem_of_text.hpp"
#include "tests/runtime/planned_family.hpp"

using namespace tilesmith;
using namespace tilesmith::runtime;

namespace {

std::string refusal_of_sparse(const tilesmith_problem& problem) {
  try {
    (void)to_problem(problem);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("C says which operand is sparse, and packed rows are half as long", "[sparsity]") {
  tilesmith_problem problem = TILESMITH_PROBLEM_OF("f16f32", "NT", 64, 96, 128);
  problem.sparsity = TILESMITH_A_2TO4;
  CHECK(text(to_problem(problem)) == "f16f32 NT 64 96 128 sparsity=a_2to4");
  CHECK(to_problem(problem).lda == 64);
  problem.sparsity = TILESMITH_B_2TO4;
  problem.ldb = 72;
  CHECK(text(to_problem(problem)) == "f16f32 NT 64 96 128 ldb=72 sparsity=b_2to4");
  problem.sparsity = 3;
  CHECK(refusal_of_sparse(problem) == "sparsity is 3: expected 0 to 2");
}

TEST_CASE("metadata must be there, aligned to 16 bytes, and apart from D", "[sparsity]") {
  Fixture f;
  f.problem = tests::problem_of_text("f16f32 NT 32 48 64 sparsity=a_2to4");
  f.args.matrices[OperandRole::metadata] = Fixture::pointer(0x70000);
  const Plan plan = f.plan();
  const auto run = [&](std::uintptr_t address) {
    RunArgs args = f.args;
    args.matrices[OperandRole::metadata] = Fixture::pointer(address);
    return plan.run(args);
  };
  CHECK(run(0x70000) == 0);
  CHECK(run(0) == Plan::kNullPointer);
  CHECK(run(0x70008) == Plan::kMisaligned);
  CHECK(run(0x30000) == Plan::kOverlap);
}

TEST_CASE("a sparse matrix that cannot be is refused in one line", "[sparsity]") {
  const auto refused = [](const SparseMatrix& matrix) {
    try {
      (void)sparse_metadata_bytes(matrix);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(refused({Scalar::f64, 16, 64}) == "elements are f64: expected f16, bf16, tf32, s8, u8, e4m3 or e5m2");
  CHECK(refused({Scalar::f16, -1, 64}).find("rows is -1") == 0);
  CHECK(refused({Scalar::f16, 16, 66}) == "k is 66: expected a multiple of 4, up to 268435456");
  CHECK(refused({Scalar::tf32, 16, 66}) == "none");
  CHECK(refused({Scalar::f16, 16, 64, 60}).find("ld_dense is 60: expected 64") == 0);
  CHECK(refused({Scalar::f16, 16, 64, 64, 30}).find("ld_values is 30: expected 32") == 0);
  CHECK(sparse_metadata_bytes({Scalar::s8, 17, 68}) == 2 * 2 * 128);
  tilesmith_sparse_matrix matrix;
  CHECK(tilesmith_sparse_matrix_init(&matrix, "f17", 16, 64) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_sparse_matrix_init(nullptr, "f16", 16, 64) == TILESMITH_BAD_ARGUMENT);
  REQUIRE(tilesmith_sparse_matrix_init(&matrix, "bf16", 16, 64) == TILESMITH_OK);
  CHECK(std::strcmp(matrix.element, "bf16") == 0);
  CHECK(tilesmith_sparse_prune(nullptr, nullptr, &matrix, nullptr, nullptr) == TILESMITH_BAD_ARGUMENT);
}

TEST_CASE("the kernels that make sparse operands compile for every element, for an Orin and for Hopper", "[sparsity]") {
  if (const std::string why = nvrtc_unavailable_because(); !why.empty()) {
    WARN("not compiled: " << why);
    return;
  }
  for (const Scalar element : {Scalar::f16, Scalar::tf32, Scalar::s8, Scalar::u8}) {
    for (const char* arch : {"sm_87", "sm_90a"}) {
      const KernelTarget target{{type_pairs().front(), {}}, *limits_for_arch(arch)};
      const SourceBuild built =
          compile_source(sparse_source(element), "sparse.cu", "compress", compiler_options(target));
      INFO(name(element) << " " << arch << ": " << built.log);
      REQUIRE(built.ok);
      // The compiler's log has a line for each.
      for (const char* entry : {"prune", "prune_tiles", "find_dense_groups", "compress", "decompress", "find_disorder"})
        CHECK(built.log.find(entry) != std::string::npos);
      for (const KernelResources& kernel : parse_resources(built.log)) CHECK(kernel.spill_bytes() == 0);
    }
  }
}
