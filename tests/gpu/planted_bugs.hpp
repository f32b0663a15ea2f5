// The kernel bugs that the verifier must catch: each is the real template with a few words replaced.
//
// A plant names text of the template as it stands; if that text is gone, planted_source() says so and the test fails,
// so that no plant rots into a kernel that is right.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/embedded.hpp"
#include "kernels/family.hpp"

namespace tilesmith::planted {

struct Edit {
  const char* find;  ///< must occur in the spliced source; its first occurrence is replaced
  const char* replace;
};

struct Bug {
  const char* name;
  const char* family;
  int rung;  ///< of the family's ladder; -1: the generic config
  const char* type;
  Transposes trans;
  std::vector<Edit> edits;
};

/// The source with every #include of an embedded file replaced by that file's text, once each.
inline std::string spliced(const std::string& source, std::vector<std::string>& seen) {
  std::string result;
  std::size_t at = 0;
  while (at < source.size()) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    const std::string line = source.substr(at, end - at);
    at = end + 1;
    const std::string_view start = "#include \"";
    if (line.compare(0, start.size(), start) != 0) {
      if (line != "#pragma once") result += line + "\n";
      continue;
    }
    const std::string name = line.substr(start.size(), line.rfind('"') - start.size());
    bool known = false;
    for (const std::string& other : seen) known = known || other == name;
    if (known) continue;
    seen.push_back(name);
    bool found = false;
    for (const EmbeddedFile& file : embedded_headers()) {
      if (file.name != name) continue;
      result += spliced(std::string(file.text), seen);
      found = true;
    }
    if (!found) throw std::runtime_error("no embedded file named " + name);
  }
  return result;
}

inline Config config_of(const Bug& bug, const KernelTarget& target) {
  if (bug.rung < 0) return generic_config(target);
  return find_family(bug.family)->ladder(target).at(std::size_t(bug.rung)).config;
}

/// The mutated source. Throws std::runtime_error naming the bug and the text if an edit no longer applies.
inline std::string planted_source(const Bug& bug, const KernelTarget& target) {
  std::vector<std::string> seen;
  std::string source = spliced(find_family(bug.family)->source(config_of(bug, target), target), seen);
  for (const Edit& edit : bug.edits) {
    const std::size_t at = source.find(edit.find);
    if (at == std::string::npos)
      throw std::runtime_error(std::string(bug.name) + ": not in the template: " + edit.find);
    source.replace(at, std::string(edit.find).size(), edit.replace);
  }
  return source;
}

inline constexpr Transposes kNN{false, false}, kNT{false, true}, kTN{true, false}, kTT{true, true};
inline constexpr int kGeneric = -1, kDirect = 1, kSingleStage = 4, kTwoStages = 5;

inline std::vector<Bug> simt_bugs() {
  return {
      {"the edge mask of N is off by one",
       "simt",
       kGeneric,
       "f16f32",
       kNN,
       {{"if (n >= args.n) continue;", "if (n > args.n) continue;"}}},
      {"the edge mask of K is off by one",
       "simt",
       kGeneric,
       "s8s32",
       kTN,
       {{"if (k >= size_k || x >= size_x) return Operand(0);", "if (k > size_k || x >= size_x) return Operand(0);"}}},
      {"lda and ldb are swapped",
       "simt",
       kGeneric,
       "bf16f32",
       kNN,
       {{"(shared_a, a, args.lda,", "(shared_a, a, args.ldb,"}}},
      {"ldc is ignored", "simt", kGeneric, "f64f64", kNT, {{"c[m * args.ldc + n]", "c[m * (long long)(args.n) + n]"}}},
      {"the K tail is dropped",
       "simt",
       kGeneric,
       "f16f16",
       kTT,
       {{"k0 < args.k; k0 += kBlockK", "k0 + kBlockK <= args.k; k0 += kBlockK"}}},
      {"the last element of K is dropped",
       "simt",
       kGeneric,
       "f16f16",
       kNN,
       {{"args.lda, k0, m0, args.k, args.m)", "args.lda, k0, m0, args.k - 1, args.m)"}}},
      {"the barrier before the product is missing",
       "simt",
       kGeneric,
       "f16f32",
       kNT,
       {{"__syncthreads();\n#pragma unroll\n    for (int row", "#pragma unroll\n    for (int row"}}},
      {"alpha is ignored",
       "simt",
       kGeneric,
       "s8s32",
       kNN,
       {{"alpha = scale_as<ScaleType>(args.alpha);", "alpha = ScaleType(1);"}}},
      {"beta is ignored",
       "simt",
       kGeneric,
       "tf32f32",
       kNN,
       {{"beta = scale_as<ScaleType>(args.beta);", "beta = ScaleType(0);"}}},
      {"C is read where beta is 0",
       "simt",
       kGeneric,
       "f64f64",
       kNN,
       {{"out = beta == ScaleType(0) ?", "out = false ?"}}},
      {"the transposition of A is ignored",
       "simt",
       kGeneric,
       "f16f32",
       kTN,
       {{"load_step<kTransA,", "load_step<false,"}}},
      {"the transposition of B is ignored",
       "simt",
       kGeneric,
       "u8s32",
       kNT,
       {{"load_step<!kTransB,", "load_step<true,"}}},
      {"tf32 operands are truncated",
       "simt",
       kGeneric,
       "tf32f32",
       kTN,
       {{"return rounded_to_tf32(value);", "return __uint_as_float(__float_as_uint(value) & 0xffffe000u);"}}},
      {"tf32 operands are not rounded at all",
       "simt",
       kGeneric,
       "tf32f32",
       kTT,
       {{"return rounded_to_tf32(value);", "return value;"}}},
      {"tiles overlap",
       "simt",
       kGeneric,
       "bf16f32",
       kTT,
       {{"const int m0 = block.m * kBlockM;", "const int m0 = block.m * (kBlockM - 1);"}}},
      {"the last row is not written",
       "simt",
       kGeneric,
       "s8s32",
       kTT,
       {{"if (m >= args.m) continue;", "if (m >= args.m - 1) continue;"}}},
      {"one element is NaN",
       "simt",
       kGeneric,
       "f16f32",
       kTT,
       {{"if (n >= args.n) continue;",
         "if (n >= args.n) continue;\n"
         "      if (m == args.m - 1 && n == 0) { c[m * args.ldc] = Output(__int_as_float(0x7fffffff)); continue; }"}}},
      {"one element is written behind C",
       "simt",
       kGeneric,
       "f16f16",
       kNT,
       {{"if (n >= args.n) continue;",
         "if (n == args.n && m == args.m - 1) c[m * args.ldc + n] = Output(0);\n      if (n >= args.n) continue;"}}},
      {"one element is written before C",
       "simt",
       kGeneric,
       "f64f64",
       kTT,
       {{"if (n >= args.n) continue;", "if (m == 0 && n == 0) c[-1] = Output(0);\n      if (n >= args.n) continue;"}}},
      {"sums are rounded to f16",
       "simt",
       kGeneric,
       "f16f32",
       kNN,
       {{"sum += a * b;", "sum = __half2float(__float2half(sum + a * b));"}}},
      {"u8 is taken for s8",
       "simt",
       kGeneric,
       "u8s32",
       kTN,
       {{"sum = int(__dp4a(a, b, unsigned(sum)));", "sum = __dp4a(int(a), int(b), sum);"}}},
      {"an operand is overwritten",
       "simt",
       kGeneric,
       "bf16f32",
       kTN,
       {{"  Output* c = static_cast<Output*>(args.c);\n#pragma unroll",
         "  if (threadIdx.x == 0 && args.k > 0) const_cast<Operand*>(a)[0] = Operand(0.0f);\n"
         "  Output* c = static_cast<Output*>(args.c);\n#pragma unroll"}}},
  };
}

inline std::vector<Bug> wmma_bugs() {
  return {
      {"the barrier between copy and product is missing",
       "wmma",
       kSingleStage,
       "f16f32",
       kNN,
       {{"__syncthreads();  // the step has landed", ""}}},
      {"asynchronous copies are not waited for",
       "wmma",
       kTwoStages,
       "bf16f32",
       kNT,
       {{"async_wait<kStages - 2>();", "async_wait<kStages - 1>();"}}},
      {"the K tail is dropped",
       "wmma",
       kTwoStages,
       "s8s32",
       kNN,
       {{"(args.k + kBlockK - 1) / kBlockK", "args.k / kBlockK"}}},
      {"the edge mask of the copied rows is off by one",
       "wmma",
       kTwoStages,
       "f16f16",
       kNN,
       {{"i * kRowsPerPass < rows_left_;", "i * kRowsPerPass <= rows_left_;"}}},
      {"the edge mask of the copied columns is missing",
       "wmma",
       kTwoStages,
       "f16f32",
       kNN,
       {{"max(0, min(columns, kElements))", "(columns > 0 ? kElements : 0)"}}},
      {"lda and ldb are swapped",
       "wmma",
       kTwoStages,
       "tf32f32",
       kTN,
       {{"static_cast<const Operand*>(args.a), args.lda,", "static_cast<const Operand*>(args.a), args.ldb,"}}},
      {"tf32 operands are truncated by the multiplier",
       "wmma",
       kTwoStages,
       "tf32f32",
       kNN,
       {{"fragment.x[i] = wmma::__float_to_tf32(fragment.x[i]);", ";"}}},
      {"alpha is ignored",
       "wmma",
       kTwoStages,
       "s8s32",
       kNT,
       {{"alpha = scale_as<ScaleType>(args.alpha);", "alpha = ScaleType(1);"}}},
      {"beta is ignored in the wide store",
       "wmma",
       kTwoStages,
       "f16f16",
       kTN,
       {{"linear<Output>(alpha, from[e], beta, old.x[e])", "linear<Output>(alpha, from[e])"}}},
      {"C is read where beta is 0",
       "wmma",
       kTwoStages,
       "f16f32",
       kTT,
       {{"if (beta == ScaleType(0)) {", "if (false) {"}}},
      {"the wide store runs over the edge",
       "wmma",
       kTwoStages,
       "f16f32",
       kNT,
       {{"if (wide && n + kVector <= args.n) {", "if (wide) {"}}},
      {"tiles overlap",
       "wmma",
       kTwoStages,
       "u8s32",
       kTN,
       {{"block_m0 = block.m * kBlockM;", "block_m0 = block.m * (kBlockM - 16);"}}},
      {"the last row is not written",
       "wmma",
       kTwoStages,
       "f64f64",
       kNN,
       {{"if (m >= args.m || n >= args.n) continue;", "if (m >= args.m - 1 || n >= args.n) continue;"}}},
      {"the transposition of B is ignored",
       "wmma",
       kTwoStages,
       "f64f64",
       kNT,
       {{"args.ldb, kTransB ? block_n0 : 0, kTransB ? 0 : block_n0,", "args.ldb, 0, block_n0,"}}},
      {"a fragment at the edge is read without its mask",
       "wmma",
       kDirect,
       "bf16f32",
       kNN,
       {{"if (row + FragRows <= rows && col + FragCols <= cols) {", "if (row + FragRows <= rows) {"}}},
      {"direct stores ignore beta",
       "wmma",
       kDirect,
       "f16f32",
       kTN,
       {{"linear<Output>(alpha, acc.x[e], beta, old.x[e])", "linear<Output>(alpha, acc.x[e])"}}},
      {"whole fragments are stored over the edge",
       "wmma",
       kDirect,
       "f16f32",
       kNN,
       {{"n0 + kWarpTileN <= args.n) {", "n0 < args.n) {"}}},
  };
}

inline std::vector<Bug> all_bugs() {
  std::vector<Bug> bugs = simt_bugs();
  for (const Bug& bug : wmma_bugs()) bugs.push_back(bug);
  return bugs;
}

}  // namespace tilesmith::planted
