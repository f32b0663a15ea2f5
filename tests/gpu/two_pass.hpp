// A family of two launches and a workspace: packs A, then multiplies with one thread an element. tf32f32 NN only,
// unrounded: exact for small integers.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "kernels/families/family.hpp"

namespace tilesmith::test {

class TwoPass final : public Family {
 public:
  inline static bool enabled = false;  // other tests of this program look at all families

  std::string_view name() const override { return "api_two_pass"; }
  std::string_view summary() const override { return "for tests: a packing pass through the workspace"; }
  bool supports(const KernelTarget& target) const override {
    return enabled && target.type.name == "tf32f32" && !target.trans.a && !target.trans.b;
  }
  std::vector<Parameter> parameters(const KernelTarget&) const override { return {}; }
  std::vector<Rule> rules(const KernelTarget&) const override { return {}; }
  std::optional<std::string> refusal(const Config&, const Problem&) const override { return std::nullopt; }
  LaunchSequence launches(const Config&, const Problem& p) const override {
    const auto blocks = [](std::int64_t items) { return unsigned((items + 255) / 256); };
    const std::size_t offset = 256;  // not at the start, so that an offset that is dropped shows
    Launch pack;
    pack.entry = "pack";
    pack.grid.x = std::max(1u, blocks(p.m * p.k));
    pack.block.x = 256;
    pack.a.row_stride = p.lda;
    pack.d = {true, offset, p.k};
    Launch gemm;
    gemm.grid.x = blocks(p.m * p.n);
    gemm.block.x = 256;
    gemm.a = {true, offset, p.k};
    gemm.b.row_stride = p.ldb;
    gemm.d.row_stride = p.ldc;
    return {{pack, gemm}, offset + std::size_t(p.m * p.k) * sizeof(float)};
  }
  std::string source(const Config&, const KernelTarget&) const override {
    return R"(#include "kernels/shared/gemm_args.cuh"
using tilesmith::GemmArgs;
extern "C" __global__ void pack(GemmArgs p) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= static_cast<long long>(p.m) * p.k) return;
  static_cast<float*>(p.d)[i] = static_cast<const float*>(p.a)[i / p.k * p.lda + i % p.k];
}
extern "C" __global__ void gemm(GemmArgs p) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= static_cast<long long>(p.m) * p.n) return;
  const long long row = i / p.n, col = i % p.n;
  float sum = 0;
  for (int l = 0; l < p.k; ++l) {
    sum += static_cast<const float*>(p.a)[row * p.lda + l] * static_cast<const float*>(p.b)[l * p.ldb + col];
  }
  float* c = static_cast<float*>(p.d) + row * p.ldc + col;
  *c = p.alpha.f32 * sum + (p.beta.f32 == 0 ? 0 : p.beta.f32 * *c);
}
)";
  }
};

/// While it lives, tests may name the config "api_two_pass{}".
class [[nodiscard]] TwoPassEnabled {
 public:
  TwoPassEnabled() {
    if (find_family("api_two_pass") == nullptr) register_family(std::make_unique<TwoPass>());
    TwoPass::enabled = true;
  }
  ~TwoPassEnabled() { TwoPass::enabled = false; }
  TwoPassEnabled(const TwoPassEnabled&) = delete;
  TwoPassEnabled& operator=(const TwoPassEnabled&) = delete;
};

}  // namespace tilesmith::test
