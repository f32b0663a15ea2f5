#include "tests/gpu/drill_family.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace tilesmith::test {
namespace {

bool enabled = false;

constexpr const char* kSource = R"(
#include "kernels/shared/gemm_args.cuh"

// One thread an element of C. kKind is a member of DrillKind.
extern "C" __global__ void gemm(tilesmith::GemmArgs args) {
  const int col = blockIdx.x * 16 + threadIdx.x;
  const int row = blockIdx.y * 16 + threadIdx.y;
  const double* a = (const double*)args.a;
  const double* b = (const double*)args.b;
  double* c = (double*)args.d;
#if KIND == 2
  this does not compile;
#elif KIND == 4
  c[(1ll << 44) + col] = 1.0;
#elif KIND == 5
  while (*(volatile double*)c != 123456789.125) __nanosleep(100);
#endif
  if (row >= args.m || col >= args.n) return;
  double sum = 0;
  for (int k = 0; k < args.k; ++k) sum += a[row * args.lda + k] * b[k * args.ldb + col];
  double result = args.alpha.f64 * sum;
  if (args.beta.f64 != 0) result += args.beta.f64 * c[row * args.ldc + col];
#if KIND == 6
  if (row == args.m - 1 && col == args.n - 1) result += 1;
#endif
#if KIND == 1
  result = result + 0.0;
#endif
  c[row * args.ldc + col] = result;
}
)";

/// The tuner renders sources, too, for their hashes; the compiler works in processes of its own.
bool is_compile_worker() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string words{std::istreambuf_iterator<char>(file), {}};
  return words.find(std::string("worker\0compile", 14)) != std::string::npos;
}

class DrillFamily final : public Family {
 public:
  std::string_view name() const override { return "drill"; }
  std::string_view summary() const override { return "kernels that go wrong on purpose"; }
  bool supports(const KernelTarget& target) const override {
    return enabled && target.type.name == "f64f64" && !target.trans.a && !target.trans.b;
  }
  std::vector<Parameter> parameters(const KernelTarget&) const override {
    Parameter kind{"kind", {}, "in which way it goes wrong"};
    for (int i = 0; i < kDrillKinds; ++i) kind.values.push_back(i);
    return {kind};
  }
  std::vector<Rule> rules(const KernelTarget&) const override { return {}; }
  std::optional<std::string> refusal(const Config&, const Problem&) const override { return std::nullopt; }

  LaunchSequence launches(const Config& config, const Problem& problem) const override {
    Launch launch;
    launch.grid = {unsigned((problem.n + 15) / 16), unsigned((problem.m + 15) / 16), 1};
    launch.block = {16, 16, 1};
    launch.a.row_stride = problem.lda;
    launch.b.row_stride = problem.ldb;
    launch.d.row_stride = problem.ldc;
    if (config.at("kind") == kDrillTooBig) launch.dynamic_smem_bytes = std::size_t{1} << 20;
    if (config.at("kind") == kDrillLaunchRefused) launch.grid.z = 1u << 20;
    return {{launch}, 0};
  }

  std::string source(const Config& config, const KernelTarget&) const override {
    if (config.at("kind") == kDrillCompilerCrash && is_compile_worker()) std::abort();
    if (config.at("kind") == kDrillCompilerHang && is_compile_worker()) {
      for (;;) ::sleep(1);
    }
    return fmt::format("#define KIND {}\n{}", config.at("kind"), kSource);
  }
};

}  // namespace

std::unique_ptr<Family> make_drill_family() { return std::make_unique<DrillFamily>(); }

void register_drill_family() {
  if (find_family("drill") == nullptr) register_family(make_drill_family());
}

DrillEnabled::DrillEnabled() {
  register_drill_family();
  enabled = true;
}

DrillEnabled::~DrillEnabled() { enabled = false; }

Config drill_config(DrillKind kind) { return Config("drill", {{"kind", int(kind)}}); }

}  // namespace tilesmith::test
