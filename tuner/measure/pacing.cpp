#include "tuner/measure/pacing.hpp"

#include <algorithm>

#include "tuner/measure/helper_kernels.hpp"

namespace tilesmith::tuner {
namespace {

constexpr unsigned long long kBlockingKernelNs = 40000;
constexpr int kReferenceSteps = 4096;
constexpr std::size_t kFewestScrubBytes = std::size_t{8} << 20;
constexpr std::size_t kUpdatedBytes = std::size_t{1} << 20;

// blocking_kernel: the nanosecond timer says when to stop; the cycle count ends it if that timer should stand still.
// scrub: the condition never holds for a zeroed buffer, but the compiler cannot know.
// reference_work: four independent chains a thread, 16 warps a multiprocessor: enough to fill the FMA pipes. With
// a = 0.5 every chain settles at 2·b, so no value grows, and `seed` comes from the host so that nothing folds.
// another_kernel: values settle at 1.
constexpr const char* kSource = R"(
extern "C" __global__ void blocking_kernel(unsigned long long wait_ns) {
  const long long first_cycle = clock64();
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < wait_ns && clock64() - first_cycle < 400000);
}

extern "C" __global__ void scrub(const uint4* from, unsigned long long count, unsigned* sink) {
  unsigned seen = 0;
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const uint4 word = from[i];
    seen |= word.x | word.y | word.z | word.w;
  }
  if (seen != 0) *sink = seen;
}

extern "C" __global__ void __launch_bounds__(256) reference_work(float seed, int steps, unsigned* sink) {
  const float a = 0.5f * seed;
  const float b = seed + (float)threadIdx.x;
  float x0 = b, x1 = b + 1.0f, x2 = b + 2.0f, x3 = b + 3.0f;
  for (int i = 0; i < steps; ++i) {
    x0 = x0 * a + b;
    x1 = x1 * a + b;
    x2 = x2 * a + b;
    x3 = x3 * a + b;
  }
  if (x0 + x1 + x2 + x3 < 0.0f) *sink = 1;
}

extern "C" __global__ void __launch_bounds__(256) another_kernel(float* values, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = values[i] * 0.999f + 1e-3f;
}
)";

}  // namespace

const char* Pacing::source() { return kSource; }

Pacing::Pacing(const runtime::Context& context)
    : context_(context),
      module_(load_helper(context, kSource, "reference_work")),
      blocking_kernel_(module_.function("blocking_kernel", 0)),
      scrub_kernel_(module_.function("scrub", 0)),
      reference_work_(module_.function("reference_work", 0)),
      another_kernel_(module_.function("another_kernel", 0)),
      sink_(256),
      updated_(kUpdatedBytes) {
  updated_.fill(0);
}

void Pacing::blocking_kernel(const runtime::Stream& stream) {
  launch_helper(blocking_kernel_, {1, 1, 1}, 1, stream, kBlockingKernelNs);
}

void Pacing::another_kernel(const runtime::Stream& stream) {
  constexpr unsigned kCount = kUpdatedBytes / sizeof(float);
  launch_helper(another_kernel_, {(kCount + 255) / 256, 1, 1}, 256, stream, updated_.data(), kCount);
}

void Pacing::scrub(const runtime::Stream& stream) {
  if (scrub_.size() == 0) {
    scrub_ = runtime::DeviceBuffer(std::max(2 * std::size_t(context_.info().identity.l2_bytes), kFewestScrubBytes));
    scrub_.fill(0);
  }
  const unsigned blocks = unsigned(context_.info().identity.sm_count) * 8;
  launch_helper(scrub_kernel_, {blocks, 1, 1}, 256, stream, scrub_.data(), (unsigned long long)(scrub_.size() / 16),
      sink_.data());
}

void Pacing::reference_work(const runtime::Stream& stream) {
  launch_helper(reference_work_, {unsigned(context_.info().identity.sm_count) * 2, 1, 1}, 256, stream, 1.0f,
      kReferenceSteps, sink_.data());
}

}  // namespace tilesmith::tuner
