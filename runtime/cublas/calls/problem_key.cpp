#include "runtime/cublas/calls/problem_key.hpp"

#include "runtime/cublas/calls/gemm_call.hpp"

namespace tilesmith::cublas {
namespace {

bool is_op(int op) { return op == kOpN || op == kOpT || op == kOpC; }

std::int8_t scaling_of(int scale_mode) {
  switch (scale_mode) {
    case kScaleEach: return TILESMITH_SCALE_EACH;
    case kScale1x128: return TILESMITH_SCALE_EACH_BY_BLOCK;
    case kScale128x128: return TILESMITH_SCALE_BLOCK;
    default: return TILESMITH_SCALE_ONE;
  }
}

Reason take_epilogue(const GemmCall& call, tilesmith_problem& problem) {
  if (call.epilogue != kEpilogueNone) {
    const bool biased = (call.epilogue & kEpilogueBias) != 0;
    switch (call.epilogue & ~kEpilogueBias) {
      case 0: break;
      case kEpilogueRelu: problem.activation = TILESMITH_RELU; break;
      case kEpilogueGelu: problem.activation = TILESMITH_GELU_TANH; break;  // cuBLASLt's GELU is the tanh form
      default: return Reason::epilogue;
    }
    if (!biased && problem.activation == 0) return Reason::epilogue;
    if (biased) {
      const bool narrow = bytes_of(call.type_a) == 1 && bytes_of(call.type_d) != 2;
      if (narrow && call.bias_type < 0) return Reason::epilogue;  // of a type that depends on more than D's
      const int type = call.bias_type < 0 ? call.type_d : call.bias_type;
      if (call.bias == nullptr || (type != call.type_d && type != kF32)) return Reason::epilogue;
      problem.bias = TILESMITH_BIAS_N;  // an element for each of its rows, our columns
      problem.bias_is_f32 = type == call.type_d ? 0 : 1;
    }
  }
  if (call.scale_a != nullptr || call.scale_b != nullptr) {
    if (call.scale_a == nullptr || call.scale_b == nullptr) return Reason::scales;
    problem.scale_m = scaling_of(call.scale_mode_b);
    problem.scale_n = scaling_of(call.scale_mode_a);
  }
  return Reason::none;
}

// The row stride of a matrix with one row means nothing: with it in the key, each prompt length of a server would be
// another problem.

std::int64_t row_stride_of(std::int64_t rows, std::int64_t columns, std::int64_t given) {
  return rows == 1 || given == columns ? 0 : given;
}

std::int64_t entry_stride_of(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t given) {
  const auto packed = std::uint64_t(rows) * std::uint64_t(rows == 1 ? columns : row_stride);  // sizes may be any
  return std::uint64_t(given) == packed ? TILESMITH_PACKED : given;
}

Reason take_batch(const GemmCall& call, tilesmith_problem& problem) {
  if (call.batch < 0) return Reason::bad_arguments;
  if (call.batch == 0) return Reason::empty;
  if (call.batch_kind == BatchKind::single) return Reason::none;
  if (call.batch_kind == BatchKind::strided && call.batch == 1) return Reason::none;
  if (call.stride_a < 0 || call.stride_b < 0 || call.stride_d < 0) return Reason::layout;
  problem.batch = call.batch;
  problem.batch_mode = call.batch_kind == BatchKind::pointers ? TILESMITH_POINTERS : TILESMITH_STRIDED;
  if (call.batch_kind == BatchKind::pointers) return Reason::none;
  const bool ta = call.op_a != kOpN, tb = call.op_b != kOpN;
  problem.stride_a = entry_stride_of(tb ? call.k : call.n, tb ? call.n : call.k, call.ldb, call.stride_b);
  problem.stride_b = entry_stride_of(ta ? call.m : call.k, ta ? call.k : call.m, call.lda, call.stride_a);
  problem.stride_c = entry_stride_of(call.n, call.m, call.ldd, call.stride_d);
  return Reason::none;
}

/// The largest power of two, 16 at the most, that divides every pointer. Those in arrays are not seen: they are
/// multiples of an element.
std::int32_t align_of(const GemmCall& call, bool reads_c) {
  if (call.batch_kind == BatchKind::pointers)
    return bytes_of(call.type_a) > bytes_of(call.type_d) ? bytes_of(call.type_a) : bytes_of(call.type_d);
  auto bits = std::uintptr_t{16} | reinterpret_cast<std::uintptr_t>(call.a) | reinterpret_cast<std::uintptr_t>(call.b) |
              reinterpret_cast<std::uintptr_t>(call.d);
  if (reads_c) bits |= reinterpret_cast<std::uintptr_t>(call.c);
  return std::int32_t(bits & (~bits + 1));
}

}  // namespace

bool has_zero_beta(const GemmCall& call) noexcept {
  if (call.device_scalars || call.beta == nullptr) return false;
  if (call.scale_type == kF64) {
    double value;
    std::memcpy(&value, call.beta, sizeof value);
    return value == 0;
  }
  std::uint32_t bits = 0;
  std::memcpy(&bits, call.beta, call.scale_type == kF16 ? 2 : 4);
  if (call.scale_type == kS32) return bits == 0;
  return (bits << (call.scale_type == kF16 ? 17 : 1)) == 0;  // -0 too
}

std::uint64_t hash_of(const ProblemKey& key) noexcept {
  static_assert(sizeof key % 8 == 0);
  std::uint64_t words[sizeof key / 8];
  std::memcpy(words, &key, sizeof key);
  std::uint64_t hash = 0, factor = 0xD6E8FEB86659FD93;
  for (const std::uint64_t word : words) {
    hash += (word ^ word >> 32) * factor;  // of each alone, so that they need not wait for each other
    factor += 0x9E3779B97F4A7C16;
  }
  hash *= 0xD6E8FEB86659FD93;
  return hash ^ hash >> 32;
}

Reason key_of(const GemmCall& call, ProblemKey& key) noexcept {
  if (call.m == 0 || call.n == 0 || call.k == 0) return Reason::empty;
  if (call.m < 0 || call.n < 0 || call.k < 0 || !is_op(call.op_a) || !is_op(call.op_b)) return Reason::bad_arguments;
  if (call.alpha == nullptr || call.beta == nullptr || call.a == nullptr || call.b == nullptr || call.d == nullptr)
    return Reason::bad_arguments;
  const bool ta = call.op_a != kOpN, tb = call.op_b != kOpN;
  if (call.lda < (ta ? call.k : call.m) || call.ldb < (tb ? call.n : call.k) || call.ldd < call.m)
    return Reason::bad_arguments;
  tilesmith_problem& problem = key.problem;
  if (const Reason reason = pair_of(call, problem.type); reason != Reason::none) return reason;

  problem.m = call.n;
  problem.n = call.m;
  problem.k = call.k;
  problem.lda = row_stride_of(tb ? call.k : call.n, tb ? call.n : call.k, call.ldb);
  problem.ldb = row_stride_of(ta ? call.m : call.k, ta ? call.k : call.m, call.lda);
  problem.ldc = row_stride_of(call.n, call.m, call.ldd);
  problem.transposes[0] = tb ? 'T' : 'N';
  problem.transposes[1] = ta ? 'T' : 'N';
  if (call.device_scalars && call.scale_type == kF16) return Reason::narrow_device_scalars;
  problem.scalars_on_device = call.device_scalars ? 1 : 0;
  problem.beta_is_zero = has_zero_beta(call) ? 1 : 0;
  if (const Reason reason = take_batch(call, problem); reason != Reason::none) return reason;
  if (const Reason reason = take_epilogue(call, problem); reason != Reason::none) return reason;
  const bool reads_c = problem.beta_is_zero == 0,
             has_terms = problem.bias != 0 || problem.activation != 0 || problem.scale_m != 0;
  if (reads_c && call.c != call.d) {
    if (call.c == nullptr) return Reason::bad_arguments;
    problem.c_is_apart = has_terms ? 0 : 1;  // an epilogue with terms reads C where it lies anyway
  }
  problem.align_bytes = align_of(call, reads_c);
  if (problem.align_bytes < bytes_of(call.type_a) || problem.align_bytes < bytes_of(call.type_d))
    return Reason::bad_arguments;
  return Reason::none;
}

bool workload_line(const tilesmith_problem& problem, const Judge& judge, std::string& line) {
  char text[512];
  const bool is_good = judge.text(&problem, text, sizeof text) == TILESMITH_OK;
  line = is_good ? text : judge.last_error();
  return is_good;
}

tilesmith_run run_of(const GemmCall& call, Scalars& scalars) noexcept {
  tilesmith_run run{sizeof run, nullptr, {call.b, call.a, call.c, call.d, call.scale_b, call.scale_a, call.bias}};
  const bool widens = !call.device_scalars && call.scale_type == kF16;
  if (widens) scalars = {from_f16_at(call.alpha), from_f16_at(call.beta)};
  run.operands[TILESMITH_ALPHA] = widens ? &scalars.alpha : call.alpha;
  run.operands[TILESMITH_BETA] = widens ? &scalars.beta : call.beta;
  return run;
}

}  // namespace tilesmith::cublas
