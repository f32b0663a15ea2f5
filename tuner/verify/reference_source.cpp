// Source text of the verifier's device kernels. It shares no line with the templates it judges: no toolkit header, no
// tensor cores, no tile but the plainest. Compiled once per type pair.
#include "tuner/verify/reference_kernels.hpp"
#include "tuner/verify/weights_data.hpp"

namespace tilesmith::tuner {
namespace {

constexpr const char* kKernels = R"device(
typedef Operand::Stored OperandBits;
typedef Output::Stored OutputBits;

__device__ inline u32 to_sum(double value, u32*) { return (u32)(int)value; }
__device__ inline double to_sum(double value, double*) { return value; }
__device__ inline double scaled_sum(double alpha, double sum, double beta, double c) { return alpha * sum + beta * c; }
__device__ inline u64 thread_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline u64 thread_count() { return (u64)gridDim.x * blockDim.x; }

// What a check found: how many faults, and the first in the order of (case, slot), as case << 48 | slot << 4 | fault.
struct Report {
  u64 first;
  u64 count;
};

struct Findings {
  u64 first = ~0ull;
  u64 count = 0;
  __device__ void add(u64 case_index, u64 slot, int fault) {
    const u64 key = case_index << 48 | slot << 4 | (u64)fault;
    if (key < first) first = key;
    ++count;
  }
  __device__ void hand_in(Report* report) const {
    if (count == 0) return;
    atomicAdd(&report->count, count);
    atomicMin(&report->first, first);
  }
};

extern "C" __global__ void reset_reports(Report* reports, int count) {
  if (threadIdx.x < count) {
    reports[threadIdx.x].first = ~0ull;
    reports[threadIdx.x].count = 0;
  }
}

extern "C" __global__ void copy_words(const u64* from, u64* to, u64 words) {
  for (u64 i = thread_index(); i < words; i += thread_count()) to[i] = from[i];
}

extern "C" __global__ void fill_words(u64* to, u64 words) {
  for (u64 i = thread_index(); i < words; i += thread_count()) to[i] = ~0ull;
}

// Bytes [begin, end) of a filled region must still be 0xff.
extern "C" __global__ void check_filled(const unsigned char* region, u64 begin, u64 end, u64 case_index,
                                        Report* report) {
  Findings findings;
  for (u64 i = begin + thread_index(); i < end; i += thread_count()) {
    if (region[i] != 0xff) findings.add(case_index, i, kFaultOutside);
  }
  findings.hand_in(report);
}

// Sum of mixed words: any changed word changes it.
extern "C" __global__ void checksum(const u64* words, u64 count, u64* sum) {
  u64 own = 0;
  for (u64 i = thread_index(); i < count; i += thread_count()) own += mixed(words[i], i, 7);
  if (own != 0) atomicAdd(sum, own);
}

// The suite: blockIdx.y is the case.
extern "C" __global__ void compare_cases(const CaseRow* rows, const unsigned char* active, const double* expected,
                                         const OutputBits* image, const OutputBits* run_1, const OutputBits* run_2,
                                         int same_bits, Report* report) {
  if (!active[blockIdx.y]) return;
  const CaseRow row = rows[blockIdx.y];
  Findings findings;
  for (u64 slot = thread_index(); slot < row.slots; slot += thread_count()) {
    const u64 at = row.zone_slot + slot;
    const i64 inside = element_index(row, slot);
    const double want = inside < 0 ? 0.0 : expected[row.expected + inside];
    const int fault = slot_fault(row, inside >= 0, want, Output::bits(image[at]), Output::bits(run_1[at]),
                                 Output::bits(run_2[at]), Output::value(run_1[at]), Output::value(run_2[at]),
                                 same_bits != 0);
    if (fault != kFaultNone) findings.add(blockIdx.y, slot, fault);
  }
  findings.hand_in(report);
}

// A whole operand zone: values inside the matrix, poison in the guards and between the rows.
// Vectors are numbered on from one matrix of a batch to the next.
extern "C" __global__ void fill_operand(OperandBits* zone, u64 slots, u64 first, i64 rows, i64 cols, i64 row_stride,
                                        i64 matrices, i64 entry_stride, int k_is_row, i64 depth, ValueRule rule) {
  for (u64 slot = thread_index(); slot < slots; slot += thread_count()) {
    OperandBits bits = Operand::poison(canary_bits(slot));
    for (int e = 0; e < Operand::kOfByte && slot >= first; ++e) {
      const i64 at = (i64)(slot - first) * Operand::kOfByte + e;
      const i64 index = stored_index(at, rows, cols, row_stride, matrices, entry_stride);
      if (index < 0) continue;
      const i64 row = index / cols, col = index % cols;
      bits = Operand::with(bits, e, k_is_row ? rule_value(rule, row / rows * cols + col, row % rows, depth) : rule_value(rule, row, col, depth));
    }
    zone[slot] = bits;
  }
}

// A whole zone of C or of a vector of D's type: values that hang on row and column.
extern "C" __global__ void fill_addend(OutputBits* zone, u64 slots, u64 first, i64 rows, i64 cols, i64 row_stride,
                                       i64 matrices, i64 entry_stride, ValueRule rule) {
  for (u64 slot = thread_index(); slot < slots; slot += thread_count()) {
    OutputBits bits = Output::poison(canary_bits(slot));
    const i64 index = slot < first ? -1 : stored_index((i64)(slot - first), rows, cols, row_stride, matrices, entry_stride);
    if (index >= 0) bits = Output::stored(rule_value(rule, index / cols, index % cols, cols));
    zone[slot] = bits;
  }
}

// The same of a vector in f32, or of packed scales of blocks.
extern "C" __global__ void fill_f32(float* zone, u64 slots, u64 first, i64 rows, i64 cols, i64 row_stride, i64 matrices,
                                    i64 entry_stride, ValueRule rule) {
  for (u64 slot = thread_index(); slot < slots; slot += thread_count()) {
    const i64 at = (i64)(slot - first);
    const bool inside = slot >= first && at < matrices * rows * cols;
    zone[slot] = inside ? (float)rule_value(rule, at / cols, at % cols, cols) : __int_as_float(0x7fc00000);
  }
}

extern "C" __global__ void fill_c(OutputBits* zone, CaseRow row, int poisoned, ValueRule rule) {
  for (u64 slot = thread_index(); slot < row.slots; slot += thread_count()) {
    const i64 inside = element_index(row, slot);
    if (inside < 0) zone[slot] = Output::canary(canary_bits(slot));
    else if (poisoned) zone[slot] = Output::poison(0x7fabcdefull);
    else zone[slot] = Output::stored(rule_value(rule, inside / row.n, inside % row.n, row.n));
  }
}

// All words of a sparse operand's metadata.
extern "C" __global__ void fill_metadata(u32* zone, u64 slots, u64 first, u64 words, i64 row_blocks) {
  for (u64 slot = thread_index(); slot < slots; slot += thread_count()) {
    const bool inside = slot >= first && slot - first < words;
    zone[slot] = inside ? metadata_word((i64)(slot - first), row_blocks, (int)sizeof(OperandBits)) : (u32)canary_bits(slot);
  }
}

// Element k of a row of a 2:4 sparse operand.
static __device__ double sparse_value(const OperandBits* matrix, i64 ld, i64 row, i64 k) {
  const i64 stored = stored_of_place(row, k, sizeof(OperandBits) == 4);
  return stored < 0 ? 0.0 : Operand::element(matrix, row * ld + stored);
}

// sums[i, j] = Σ_k op(A)[row_i, k]·op(B)[k, j] for `count` rows: rows[i], or first_row + i where there is no list.
// op(B)[k, j] is b(k, j), and k runs along its lines where trans_b is set. 32×32 elements a block, 4 a thread, through
// shared memory only so that every layout reads whole lines.
template <typename Sum, typename B>
static __device__ void multiply_by(const OperandBits* a, i64 lda, int trans_a, bool sparse_a, const BlockScaleRule& scales, B b, int trans_b,
                                   const i64* rows, i64 first_row, i64 count, i64 n, i64 k, Sum* sums) {
  __shared__ Sum panel_a[32][33];  // [row, k]
  __shared__ Sum panel_b[32][33];  // [k, column]
  const int x = threadIdx.x, y = threadIdx.y;
  const i64 row0 = (i64)blockIdx.y * 32, col0 = (i64)blockIdx.x * 32;
  Sum own[4] = {0, 0, 0, 0};
  for (i64 k0 = 0; k0 < k; k0 += 32) {
    for (int step = y; step < 32; step += 8) {
      const int ar = trans_a ? x : step, ak = trans_a ? step : x;
      const i64 i = row0 + ar;
      Sum va = 0;
      if (i < count && k0 + ak < k) {
        const i64 row = rows != nullptr ? rows[i] : first_row + i;
        const double value = sparse_a ? sparse_value(a, lda, row, k0 + ak)
                                      : Operand::element(a, trans_a ? (k0 + ak) * lda + row : row * lda + k0 + ak);
        va = to_sum(value * block_scale(scales, true, row, k0 + ak), (Sum*)nullptr);
      }
      panel_a[ar][ak] = va;
      const int bk = trans_b ? x : step, bj = trans_b ? step : x;
      const i64 j = col0 + bj;
      Sum vb = 0;
      if (j < n && k0 + bk < k) vb = to_sum(b(k0 + bk, j), (Sum*)nullptr);
      panel_b[bk][bj] = vb;
    }
    __syncthreads();
    for (int kk = 0; kk < 32; ++kk) {
      const Sum vb = panel_b[kk][x];
      for (int r = 0; r < 4; ++r) own[r] += Operand::product(panel_a[y + 8 * r][kk], vb);
    }
    __syncthreads();
  }
  for (int r = 0; r < 4; ++r) {
    const i64 i = row0 + y + 8 * r, j = col0 + x;
    if (i < count && j < n) sums[i * n + j] = own[r];
  }
}

// `sparse`: 1, A is 2:4 sparse; 2, B is.
template <typename Sum>
static __device__ void multiply(const OperandBits* a, i64 lda, int trans_a, const OperandBits* b, i64 ldb, int trans_b,
                                const i64* rows, i64 first_row, i64 count, i64 n, i64 k, int sparse, const BlockScaleRule& scales, Sum* sums) {
  const auto of_b = [=](i64 at_k, i64 j) {
    const double value = sparse == 2 ? sparse_value(b, ldb, j, at_k) : Operand::element(b, trans_b ? j * ldb + at_k : at_k * ldb + j);
    return value * block_scale(scales, false, j, at_k);
  };
  multiply_by(a, lda, trans_a, sparse == 1, scales, of_b, trans_b, rows, first_row, count, n, k, sums);
}

extern "C" __global__ void multiply_exact(const OperandBits* a, i64 lda, int trans_a, const OperandBits* b, i64 ldb,
                                          int trans_b, const i64* rows, i64 first_row, i64 count, i64 n, i64 k, int sparse,
                                          BlockScaleRule scales, ExactSum* sums) {
  multiply<ExactSum>(a, lda, trans_a, b, ldb, trans_b, rows, first_row, count, n, k, sparse, scales, sums);
}

extern "C" __global__ void multiply_real(const OperandBits* a, i64 lda, int trans_a, const OperandBits* b, i64 ldb,
                                         int trans_b, const i64* rows, i64 first_row, i64 count, i64 n, i64 k, int sparse,
                                         BlockScaleRule scales, double* sums) {
  multiply<double>(a, lda, trans_a, b, ldb, trans_b, rows, first_row, count, n, k, sparse, scales, sums);
}

// What the bias holds for an element, as it was stored.
static __device__ double bias_value(const EpilogueRule& rule, i64 i, i64 j) {
  if (rule.bias == 0) return 0.0;
  const double value = rule_value(rule.bias_rule, 0, rule.bias == 1 ? j : i, 1);
  return rule.bias_is_f32 != 0 ? (double)(float)value : Output::value(Output::stored(value));
}

static __device__ double scale_value(const EpilogueRule& rule, i64 i, i64 j) {
  double scale = 1.0;
  if (rule.scale_m == 1 || rule.scale_m == 2) scale *= (double)(float)rule_value(rule.scale_m_rule, 0, rule.scale_m == 2 ? i : 0, 1);
  if (rule.scale_n == 1 || rule.scale_n == 2) scale *= (double)(float)rule_value(rule.scale_n_rule, 0, rule.scale_n == 2 ? j : 0, 1);
  return scale;
}

// Elements of D against the reference's rows, which are numbered on from one entry of a batch to the next. `zone`,
// `row` and `rule` as for fill_c. Of exact sums D must hold the result rounded to the output's format (to nearest, ties
// to even), which changes only what is not exact in it; but near it behind an epilogue that is not exact.
template <bool Exact, typename Sum>
static __device__ void compare_rows(const OutputBits* zone, CaseRow row, ValueRule rule, const Sum* sums,
                                    const i64* rows, i64 count, double alpha, double beta, EpilogueRule epilogue,
                                    int exact_epilogue, u64 case_index, Report* report) {
  Findings findings;
  const u64 elements = (u64)count * (u64)row.n;
  for (u64 t = thread_index(); t < elements; t += thread_count()) {
    const i64 i = rows != nullptr ? rows[t / row.n] : (i64)(t / row.n);
    const i64 j = t % row.n;
    const u64 slot = row.first_slot + (u64)stored_at(i * row.n + j, row.m, row.n, row.ldc, row.stride_c);
    const double c = beta == 0.0 ? 0.0 : Output::value(Output::stored(rule_value(rule, i, j, row.n)));
    const i64 m = i % row.m;
    double want;
    if (epilogue.gate != 0) {
      double of_pair[2];
      for (int y = 0; y < 2; ++y) {
        const i64 n = gate_column(epilogue.gate, j, y != 0, row.n);
        const Sum sum = sums[t / row.n * (2 * row.n) + n];
        of_pair[y] = epilogue_value(epilogue, scaled_sum(alpha * scale_value(epilogue, m, n), sum, 0.0, 0.0), bias_value(epilogue, m, n));
      }
      want = activation_value(epilogue.activation, of_pair[0], of_pair[1]);
    } else {
      want = epilogue_value(epilogue, scaled_sum(alpha * scale_value(epilogue, m, j), sums[t], beta, c), bias_value(epilogue, m, j));
    }
    want = Output::bounded(want);
    if (Exact && exact_epilogue != 0) want = Output::value(Output::stored(want));
    if (element_wrong(Output::value(zone[slot]), want, row.absolute, row.relative)) {
      findings.add(case_index, slot, kFaultWrong);
    }
  }
  findings.hand_in(report);
}

extern "C" __global__ void compare_exact(const OutputBits* zone, CaseRow row, ValueRule rule, const ExactSum* sums,
                                         const i64* rows, i64 count, double alpha, double beta, EpilogueRule epilogue,
                                         int exact_epilogue, u64 case_index, Report* report) {
  compare_rows<true, ExactSum>(zone, row, rule, sums, rows, count, alpha, beta, epilogue, exact_epilogue, case_index, report);
}

extern "C" __global__ void compare_real(const OutputBits* zone, CaseRow row, ValueRule rule, const double* sums,
                                        const i64* rows, i64 count, double alpha, double beta, EpilogueRule epilogue,
                                        int exact_epilogue, u64 case_index, Report* report) {
  compare_rows<false, double>(zone, row, rule, sums, rows, count, alpha, beta, epilogue, exact_epilogue, case_index, report);
}

// Slots outside the matrix: the guard before, the padding of every row, the guard behind.
extern "C" __global__ void check_outside(const OutputBits* zone, CaseRow row, u64 case_index, Report* report) {
  Findings findings;
  if (row.batch > 1) {
    for (u64 slot = thread_index(); slot < row.slots; slot += thread_count()) {
      if (element_index(row, slot) < 0 && Output::bits(zone[slot]) != Output::bits(Output::canary(canary_bits(slot))))
        findings.add(case_index, slot, kFaultOutside);
    }
    return findings.hand_in(report);
  }
  const u64 padding = (u64)(row.ldc - row.n);
  const u64 between = padding * (u64)(row.m - 1);
  const u64 span = (u64)((row.m - 1) * row.ldc + row.n);
  const u64 total = row.slots - span + between;
  for (u64 t = thread_index(); t < total; t += thread_count()) {
    u64 slot = t;
    if (t >= row.first_slot) {
      const u64 after = t - row.first_slot;
      if (after < between) slot = row.first_slot + after / padding * (u64)row.ldc + (u64)row.n + after % padding;
      else slot = row.first_slot + span + (after - between);
    }
    if (Output::bits(zone[slot]) != Output::bits(Output::canary(canary_bits(slot)))) {
      findings.add(case_index, slot, kFaultOutside);
    }
  }
  findings.hand_in(report);
}
)device";

// Of integers that stay so, sums wrap modulo 2^32; of other exact data they fit 32 bits.
constexpr const char* kScaledWrapping = R"device(
__device__ inline double scaled_sum(double alpha, u32 sum, double beta, double c) {
  return (int)((u32)(int)alpha * sum + (u32)(int)beta * (u32)(int)c);
}
)device";
constexpr const char* kScaledFloat = R"device(
__device__ inline double scaled_sum(double alpha, u32 sum, double beta, double c) {
  return alpha * (double)(int)sum + beta * c;
}
)device";

}  // namespace

std::string reference_source(const TypePair& type, bool weights) {
  std::string source = reference_formats(type);
  source += type.a == Scalar::f64 ? "typedef double ExactSum;\n" : "typedef u32 ExactSum;\n";
  source += type.output == Scalar::s32 ? kScaledWrapping : kScaledFloat;
  source += kKernels;
  if (weights) source += std::string(verify::kWeightsRulesText) + kWeightsKernelsText;
  return source;
}

}  // namespace tilesmith::tuner
