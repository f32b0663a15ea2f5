#include "tuner/measure/gate_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "tuner/measure/helper_kernels.hpp"

namespace tilesmith::tuner {
namespace {

constexpr unsigned kGateThreads = 256;
constexpr std::int64_t kMostRowsOfGrid = 65535;

// A thread has kVector pairs of a row: 16 bytes of x, of y and of D, or one by one.
constexpr const char* kGateSource = R"device(
struct alignas(kVector * sizeof(Element)) Run { Element x[kVector]; };
extern "C" __global__ void __launch_bounds__(256) gate(const Element* product, Element* d, int m, int pairs, long long ldd) {
  const int first = int(blockIdx.x * blockDim.x + threadIdx.x) * kVector;
  if (first >= pairs) return;
  for (int row = int(blockIdx.y); row < m; row += int(gridDim.y)) {
    const Element* from = product + 2ll * pairs * row;
    Run out;
    if (kInterleaved) {
      const Run low = *reinterpret_cast<const Run*>(from + 2 * first), high = *reinterpret_cast<const Run*>(from + 2 * first + kVector);
      for (int e = 0; e < kVector; ++e) {
        const Real x = Real(2 * e < kVector ? low.x[2 * e % kVector] : high.x[2 * e % kVector]);
        const int at = (2 * e + 1) % kVector;
        out.x[e] = Element(x / (Real(1) + exponential(-x)) * Real(2 * e + 1 < kVector ? low.x[at] : high.x[at]));
      }
    } else {
      const Run xs = *reinterpret_cast<const Run*>(from + first), ys = *reinterpret_cast<const Run*>(from + pairs + first);
      for (int e = 0; e < kVector; ++e) {
        const Real x = Real(xs.x[e]);
        out.x[e] = Element(x / (Real(1) + exponential(-x)) * Real(ys.x[e]));
      }
    }
    *reinterpret_cast<Run*>(d + row * ldd + first) = out;
  }
}
)device";

/// 16 bytes, where all rows take them.
int vector_of(const Problem& problem) {
  const int whole = 16 / int(size_bytes(problem.type.output));
  return c_align_bytes(problem) >= 16 && problem.d_cols() % whole == 0 ? whole : 1;
}

std::string source_of(const Problem& problem, int vector) {
  const Scalar output = problem.type.output;
  const char* const type = output == Scalar::f16    ? "__half"
                           : output == Scalar::bf16 ? "__nv_bfloat16"
                           : output == Scalar::f64  ? "double"
                                                    : "float";
  const bool f64 = output == Scalar::f64;
  return fmt::format(
             "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\nusing Element = {};\nusing Real = {};\nconstexpr int kVector = {};\n"
             "constexpr bool kInterleaved = {};\n__device__ inline Real exponential(Real x) {{ return {}(x); }}\n",
             type, f64 ? "double" : "float", vector, row_of(problem.epilogue.activation).gate == Gate::interleaved,
             f64 ? "exp" : "__expf") +
         kGateSource;
}

}  // namespace

GateKernel::GateKernel(const runtime::Context& context, const Problem& problem)
    : problem_(problem),
      vector_(vector_of(problem)),
      module_(load_helper(context, source_of(problem, vector_), "gate")) {}

void GateKernel::enqueue(const void* product, void* d, const runtime::Stream& stream) const {
  const std::int64_t pairs = problem_.d_cols(), of_block = std::int64_t(kGateThreads) * vector_;
  const unsigned grid[3] = {
      unsigned((pairs + of_block - 1) / of_block), unsigned(std::min(problem_.m, kMostRowsOfGrid)), 1};
  launch_helper(module_.function("gate", 0), grid, kGateThreads, stream, product, d, int(problem_.m), int(pairs),
      (long long)(problem_.ldc));
}

}  // namespace tilesmith::tuner
