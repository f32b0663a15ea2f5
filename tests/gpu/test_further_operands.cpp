// A kernel that takes C apart from D, as a parameter of its own behind the others.
#include <fmt/format.h>

#include "kernels/plan_hash.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/plan/plan.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device_problem.hpp"

using namespace tilesmith;
using namespace tilesmith::test;

namespace {

class Apart final : public Family {
 public:
  inline static bool enabled = false;  // other tests of this program look at all families

  std::string_view name() const override { return "apart"; }
  std::string_view summary() const override { return "for tests: one thread an element, C read where it lies"; }
  bool supports(const KernelTarget& target) const override { return enabled && target.type.name == "tf32f32"; }
  std::vector<Parameter> parameters(const KernelTarget&) const override { return {}; }
  std::vector<Rule> rules(const KernelTarget&) const override { return {}; }
  std::optional<std::string> refusal(const Config&, const Problem&) const override { return std::nullopt; }
  LaunchSequence launches(const Config&, const Problem& p) const override {
    Launch launch;
    launch.grid.x = unsigned((p.m * p.n + 255) / 256);
    launch.block.x = 256;
    launch.a.row_stride = p.lda;
    launch.b.row_stride = p.ldb;
    launch.c.row_stride = p.ldc;
    launch.further = {OperandRole::c};
    return {{launch}, 0};
  }
  std::string source(const Config&, const KernelTarget&) const override {
    return R"(#include "kernels/common/gemm_args.cuh"
#include "kernels/common/operand_arg.cuh"
extern "C" __global__ void gemm(tilesmith::GemmArgs p, tilesmith::OperandArg c) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= static_cast<long long>(p.m) * p.n) return;
  const long long row = i / p.n, col = i % p.n;
  float sum = 0;
  for (int l = 0; l < p.k; ++l) {
    sum += static_cast<const float*>(p.a)[row * p.lda + l] * static_cast<const float*>(p.b)[l * p.ldb + col];
  }
  const float before = p.beta.f32 == 0 ? 0 : static_cast<const float*>(c.data)[row * c.row_stride + col];
  static_cast<float*>(p.c)[row * p.ldc + col] = p.alpha.f32 * sum + p.beta.f32 * before;
})";
  }
};

}  // namespace

TEST_CASE("a kernel takes a further operand where the run points to it, C apart or in place", "[gpu][operand]") {
  if (find_family("apart") == nullptr) register_family(std::make_unique<Apart>());
  Apart::enabled = true;
  {
    const runtime::Context context(0);
    const runtime::Stream stream;
    std::string error;
    const Problem problem = *parse_problem("tf32f32 NN 70 50 40 ldc=64 beta=any", error);
    const KernelTarget target{problem, context.info().limits};
    const runtime::SourceBuild built = runtime::compile_source(find_family("apart")->source(Config("apart", {}), target), "apart.cu", "gemm", compiler_options(target));
    INFO(built.log);
    REQUIRE(built.ok);
    const runtime::Plan plan(std::make_shared<const runtime::Module>(built.cubin), Config("apart", {}), problem);
    DeviceProblem data(problem), apart(problem);
    runtime::RunArgs args;
    args.set(OperandRole::a, data.a());
    args.set(OperandRole::b, data.b());
    args.matrices[OperandRole::c] = apart.c();
    args.matrices[OperandRole::d] = data.c();
    args.alpha = runtime::to_scale(problem.type, 1);
    args.beta = runtime::to_scale(problem.type, 2);
    args.stream = stream.get();
    data.poison_c();
    context.synchronize();
    REQUIRE(plan.run(args) == 0);
    stream.synchronize();
    CHECK(data.max_error(1, 2) == 0);
    CHECK(apart.max_error(0, 1) == 0);
    args.matrices[OperandRole::c] = nullptr;
    data.reset_c();
    args.matrices[OperandRole::d] = data.c();  // in new memory
    context.synchronize();
    REQUIRE(plan.run(args) == 0);
    stream.synchronize();
    CHECK(data.max_error(1, 2) == 0);
  }
  Apart::enabled = false;
}
