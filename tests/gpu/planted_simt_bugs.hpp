// Bugs planted in simt.cu.
#pragma once

#include <vector>

#include "tests/gpu/planted_bug.hpp"

namespace tilesmith::planted {

inline constexpr int kGeneric = -1;

inline std::vector<Bug> simt_bugs() {
  return {
      {"the edge mask of N is off by one", "simt", kGeneric, "f16f32", kNN,
          {{"if (n >= (kIsGated ? args.n / 2 : args.n)) continue;",
              "if (n > (kIsGated ? args.n / 2 : args.n)) continue;"}}},
      {"the edge mask of K is off by one", "simt", kGeneric, "s8s32", kTN,
          {{"if (k >= size_k || x >= size_x) return Operand(0);",
              "if (k > size_k || x >= size_x) return Operand(0);"}}},
      {"lda and ldb are swapped", "simt", kGeneric, "bf16f32", kNN,
          {{"numbers(args, args.a, args.lda,", "numbers(args, args.a, args.ldb,"}}},
      {"ldc is ignored", "simt", kGeneric, "f64f64", kNT,
          {{" d[m * args.ldc + n]", " d[m * (long long)(args.n) + n]"}}},
      {"the K tail is dropped", "simt", kGeneric, "f16f16", kTT,
          {{"k0 < args.k; k0 += kBlockK", "k0 + kBlockK <= args.k; k0 += kBlockK"}}},
      {"the last element of K is dropped", "simt", kGeneric, "f16f16", kNN, {{"size_k(args.k)", "size_k(args.k - 1)"}}},
      {"the barrier before the product is missing", "simt", kGeneric, "f16f32", kNT,
          {{"__syncthreads();\n#pragma unroll\n    for (int row", "#pragma unroll\n    for (int row"}}},
      {"alpha is ignored", "simt", kGeneric, "s8s32", kNN,
          {{"alpha = scale_as<ScaleType>(args.alpha);", "alpha = ScaleType(1);"}}},
      {"beta is ignored", "simt", kGeneric, "tf32f32", kNN,
          {{"beta = scale_as<ScaleType>(args.beta);", "beta = ScaleType(0);"}}},
      {"C is read where beta is 0", "simt", kGeneric, "f64f64", kNN,
          {{"out = beta == ScaleType(0) ?", "out = false ?"}}},
      {"the transposition of A is ignored", "simt", kGeneric, "f16f32", kTN,
          {{"PlainOperand<kTransA>", "PlainOperand<false>"}}},
      {"the transposition of B is ignored", "simt", kGeneric, "u8s32", kNT,
          {{"PlainOperand<!kTransB>", "PlainOperand<true>"}}},
      {"tf32 operands are truncated", "simt", kGeneric, "tf32f32", kTN,
          {{"return rounded_to_tf32(float(element(0)));",
              "return __uint_as_float(__float_as_uint(element(0)) & 0xffffe000u);"}}},
      {"tf32 operands are not rounded at all", "simt", kGeneric, "tf32f32", kTT,
          {{"return rounded_to_tf32(float(element(0)));", "return element(0);"}}},
      {"tiles overlap", "simt", kGeneric, "bf16f32", kTT,
          {{"return {tile.m * kBlockM, tile.n * kBlockN};", "return {tile.m * (kBlockM - 1), tile.n * kBlockN};"}}},
      {"the last row is not written", "simt", kGeneric, "s8s32", kTT,
          {{"if (m >= args.m) continue;", "if (m >= args.m - 1) continue;"}}},
      {"one element is NaN", "simt", kGeneric, "f16f32", kTT,
          {{"if (n >= (kIsGated ? args.n / 2 : args.n)) continue;",
              "if (n >= (kIsGated ? args.n / 2 : args.n)) continue;\n"
              "      if (m == args.m - 1 && n == 0) { d[m * args.ldc] = Output(__int_as_float(0x7fffffff)); continue; }"}}},
      {"one element is written behind C", "simt", kGeneric, "f16f16", kNT,
          {{"if (n >= (kIsGated ? args.n / 2 : args.n)) continue;",
              "if (n == args.n && m == args.m - 1) d[m * args.ldc + n] = Output(0);\n      if (n >= (kIsGated ? args.n / 2 : args.n)) continue;"}}},
      {"one element is written before C", "simt", kGeneric, "f64f64", kTT,
          {{"if (n >= (kIsGated ? args.n / 2 : args.n)) continue;",
              "if (m == 0 && n == 0) d[-1] = Output(0);\n      if (n >= (kIsGated ? args.n / 2 : args.n)) continue;"}}},
      {"sums are rounded to f16", "simt", kGeneric, "f16f32", kNN,
          {{"sum += a * b;", "sum = __half2float(__float2half(sum + a * b));"}}},
      {"sums are rounded to bf16", "simt", kGeneric, "bf16f32bf16", kNT,
          {{"sum += a * b;", "sum = __bfloat162float(__float2bfloat16(sum + a * b));"}}},
      {"the sum is rounded before it is scaled", "simt", kGeneric, "f16f32f16", kTT,
          {{"return Out(scaled<S>(alpha, S(acc)));", "return Out(scaled<S>(alpha, S(Out(acc))));"},
              {"added<S>(scaled<S>(alpha, S(acc)),", "added<S>(scaled<S>(alpha, S(Out(acc))),"}}},
      {"results are truncated to f16", "simt", kGeneric, "f16f32f16", kNN,
          {{"return Out(scaled<S>(alpha, S(acc)));", "return __float2half_rz(scaled<S>(alpha, S(acc)));"},
              {"return Out(added<S>(", "return __float2half_rz(added<S>("}}},
      {"results are truncated to bf16", "simt", kGeneric, "bf16f32bf16", kTN,
          {{"return Out(scaled<S>(alpha, S(acc)));", "return __float2bfloat16_rz(scaled<S>(alpha, S(acc)));"},
              {"return Out(added<S>(", "return __float2bfloat16_rz(added<S>("}}},
      {"u8 is taken for s8", "simt", kGeneric, "u8s32", kTN,
          {{"sum = int(__dp4a(a, b, unsigned(sum)));", "sum = __dp4a(int(a), int(b), sum);"}}},
      {"an operand is overwritten", "simt", kGeneric, "bf16f32", kTN,
          {{"  Output* d = static_cast<Output*>(args.d);\n#pragma unroll",
              "  if (threadIdx.x == 0 && args.k > 0) static_cast<Operand*>(const_cast<void*>(args.a))[0] = Operand(0.0f);\n"
              "  Output* d = static_cast<Output*>(args.d);\n#pragma unroll"}}},
  };
}

}  // namespace tilesmith::planted
