#include "tuner/measure/random_fill.hpp"

#include <fmt/format.h>

#include "tuner/measure/helper_kernels.hpp"

namespace tilesmith::tuner {
namespace {

// A counter-based generator: element i depends on (seed, i) only, so that the grid's size does not matter. The mixing
// function is the finalizer of Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).
constexpr const char* kCommon = R"(
typedef unsigned long long Bits;

__device__ Bits random_bits(Bits seed, Bits index) {
  Bits z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// Uniform in (-1, 1), 24 and 53 random bits.
__device__ float unit_float(Bits bits) { return (float)(int)((bits >> 40) * 2 + 1 - (1 << 24)) * (1.0f / (1 << 24)); }
__device__ double unit_double(Bits bits) {
  return (double)((long long)((bits >> 11) * 2 + 1) - (1ll << 53)) * (1.0 / (double)(1ll << 53));
}
)";

constexpr const char* kKernel = R"(
extern "C" __global__ void random_fill(Element* to, Bits count, Bits seed) {
  const Bits step = (Bits)gridDim.x * blockDim.x;
  for (Bits i = (Bits)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) to[i] = element(random_bits(seed, i));
}
)";

/// The element's storage type and how random bits become one.
const char* element_of(Scalar type) {
  switch (type) {
    case Scalar::f16:
      return R"(typedef unsigned short Element;
__device__ Element element(Bits bits) {
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(unit_float(bits)));
  return half;
})";
    case Scalar::bf16:  // the upper half of a float, rounded to nearest even (no NaN occurs here)
      return R"(typedef unsigned short Element;
__device__ Element element(Bits bits) {
  const unsigned word = __float_as_uint(unit_float(bits));
  return (unsigned short)((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
})";
    case Scalar::tf32:  // operands are plain floats in memory: rounding is the kernel's work
    case Scalar::f32:
    case Scalar::f32x3:
      return "typedef float Element;\n__device__ Element element(Bits bits) { return unit_float(bits); }";
    case Scalar::f64:
      return "typedef double Element;\n__device__ Element element(Bits bits) { return unit_double(bits); }";
    case Scalar::e4m3:  // a half of the value / 256 has the same bits above the seventh, rounded to nearest even
      return R"(typedef unsigned char Element;
__device__ Element element(Bits bits) {
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(unit_float(bits) * (1.0f / 256)));
  const unsigned magnitude = half & 0x7fffu;
  return (Element)((half >> 8 & 0x80u) | (magnitude + 0x3fu + (magnitude >> 7 & 1u)) >> 7);
})";
    case Scalar::e5m2:  // the upper half of a half, rounded to nearest even
      return R"(typedef unsigned char Element;
__device__ Element element(Bits bits) {
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(unit_float(bits)));
  return (Element)((half + 0x7fu + (half >> 8 & 1u)) >> 8);
})";
    case Scalar::s8:
    case Scalar::u8:
    case Scalar::s4:
    case Scalar::u4:
    case Scalar::b1:
    case Scalar::b1xor:
      return "typedef unsigned char Element;\n__device__ Element element(Bits bits) { return (Element)(bits >> 56); }";
    case Scalar::s32:
      return "typedef unsigned Element;\n__device__ Element element(Bits bits) { return (Element)(bits >> 32); }";
  }
  return "";
}

}  // namespace

RandomFill::RandomFill(const runtime::Context& context) : context_(context) {}

std::string RandomFill::source(Scalar type) { return fmt::format("{}{}{}", kCommon, element_of(type), kKernel); }

std::string RandomFill::metadata_source(bool pairs) {
  const char* one =
      pairs ? "(bits >> 2 * i & 1) != 0 ? 14u : 4u" : "0xedc984u >> ((bits >> 7 * i & 127) % 6 * 4) & 15u";
  return fmt::format(
      "{}typedef unsigned Element;\n__device__ Element element(Bits bits) {{\n  Element word = 0;\n  for (int i = 0; i < 8; ++i) word |= ({}) << (4 * i);\n  return word;\n}}{}",
      kCommon, one, kKernel);
}

const runtime::Module& RandomFill::module(int key, const std::string& source) {
  if (const auto found = modules_.find(key); found != modules_.end()) return found->second;
  return modules_.emplace(key, load_helper(context_, source, "random_fill")).first->second;
}

void RandomFill::fill(const runtime::DeviceBuffer& buffer, std::size_t offset_bytes, Scalar type, std::uint64_t seed,
    const runtime::Stream& stream) {
  fill_by(module(int(type), source(type)), buffer, offset_bytes, size_bytes(type), seed, stream);
}

void RandomFill::fill_metadata(const runtime::DeviceBuffer& buffer, std::size_t offset_bytes, Scalar type,
    std::uint64_t seed, const runtime::Stream& stream) {
  const bool pairs = size_bytes(type) == 4;
  fill_by(module(pairs ? -2 : -1, metadata_source(pairs)), buffer, offset_bytes, sizeof(unsigned), seed, stream);
}

void RandomFill::fill_by(const runtime::Module& module, const runtime::DeviceBuffer& buffer, std::size_t offset_bytes,
    std::size_t element_bytes, std::uint64_t seed, const runtime::Stream& stream) {
  const unsigned long long count = (buffer.size() - offset_bytes) / element_bytes;
  if (count == 0) return;
  const unsigned blocks = unsigned(context_.info().identity.sm_count) * 8;
  launch_helper(module.function("random_fill", 0), {blocks, 1, 1}, 256, stream, buffer.data() + offset_bytes, count,
      (unsigned long long)(seed));
}

}  // namespace tilesmith::tuner
