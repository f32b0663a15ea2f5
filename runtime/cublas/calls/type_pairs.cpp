#include "runtime/cublas/calls/gemm_call.hpp"

#include <cstdlib>
#include <cstring>

namespace tilesmith::cublas {
namespace {

/// How products are summed, of what a compute type and the math mode allow.
enum class Sums : std::uint8_t { f16, f32, tf32, f64, s32 };

struct PairRow {
  char name[16];
  int type_ab, type_d, scale_type;
  Sums sums;
};

// tf32 stands for f32 operands that may be rounded: it is no less exact than the f16 and bf16 that other fast modes
// allow.
constexpr PairRow kPairRows[] = {
    {"f16f32f16", kF16, kF16, kF32, Sums::f32},
    {"f16f32", kF16, kF32, kF32, Sums::f32},
    {"f16f16", kF16, kF16, kF16, Sums::f16},
    {"bf16f32bf16", kBf16, kBf16, kF32, Sums::f32},
    {"bf16f32", kBf16, kF32, kF32, Sums::f32},
    {"f32f32", kF32, kF32, kF32, Sums::f32},
    {"tf32f32", kF32, kF32, kF32, Sums::tf32},
    {"f64f64", kF64, kF64, kF64, Sums::f64},
    {"s8s32", kS8, kS32, kS32, Sums::s32},
    {"s8s32s8", kS8, kS8, kF32, Sums::s32},
    {"e4m3f32", kE4m3, kF32, kF32, Sums::f32},
    {"e4m3f32bf16", kE4m3, kBf16, kF32, Sums::f32},
    {"e4m3f32f16", kE4m3, kF16, kF32, Sums::f32},
};

/// NVIDIA_TF32_OVERRIDE=0 takes TF32 from every library of NVIDIA's.
bool tf32_is_off() {
  static const bool off = [] {
    const char* given = std::getenv("NVIDIA_TF32_OVERRIDE");
    return given != nullptr && std::strcmp(given, "0") == 0;
  }();
  return off;
}

Reason sums_of(const GemmCall& call, Sums& sums) {
  const int math = call.math & kMathBits;
  if (math == kPedanticMath) return Reason::pedantic;
  if (math > kTf32Math) return Reason::emulated;
  switch (call.compute) {
    case kCompute16F: sums = Sums::f16; return Reason::none;
    case kCompute64F: sums = Sums::f64; return Reason::none;
    case kCompute32I: sums = Sums::s32; return Reason::none;
    case kCompute32F:
    case kCompute32FFast16F:
    case kCompute32FFast16BF:
    case kCompute32FFastTf32: break;
    case kCompute16F + 1:
    case kCompute32F + 1:
    case kCompute64F + 1:
    case kCompute32I + 1: return Reason::pedantic;
    case 78:
    case 79: return Reason::emulated;  // BF16x9, fixed point
    default: return Reason::types;
  }
  const bool rounds = call.compute != kCompute32F || math == kTf32Math || math == kTensorOpMath;
  sums = rounds && call.type_a == kF32 && !tf32_is_off() ? Sums::tf32 : Sums::f32;
  return Reason::none;
}

}  // namespace

int scale_type_of(int compute) {
  switch (compute) {
    case kCompute16F:
    case kCompute16F + 1: return kF16;
    case kCompute64F:
    case kCompute64F + 1: return kF64;
    case kCompute32I:
    case kCompute32I + 1: return kS32;
    case kCompute32F:
    case kCompute32F + 1:
    case kCompute32FFast16F:
    case kCompute32FFast16BF:
    case kCompute32FFastTf32: return kF32;
    default: return -1;
  }
}

int bytes_of(int type) noexcept {
  switch (type) {
    case kF64: return 8;
    case kF32:
    case kS32: return 4;
    case kF16:
    case kBf16: return 2;
    case kS8:
    case kU8:
    case kE4m3:
    case kE5m2: return 1;
    default: return 0;
  }
}

Reason pair_of(const GemmCall& call, char (&name)[16]) noexcept {
  if (call.type_a != call.type_b) return Reason::types;
  Sums sums{};
  if (const Reason reason = sums_of(call, sums); reason != Reason::none) return reason;
  for (const PairRow& row : kPairRows) {
    if (row.type_ab != call.type_a || row.type_d != call.type_d || row.sums != sums ||
        row.scale_type != call.scale_type)
      continue;
    // With scales of blocks the sums of each block are added in f32 anyway.
    if (call.type_a == kE4m3 && !call.fast_accum && !is_by_block(call.scale_mode_a)) return Reason::precise_fp8;
    std::memcpy(name, row.name, sizeof name);
    return Reason::none;
  }
  return Reason::types;
}

}  // namespace tilesmith::cublas
