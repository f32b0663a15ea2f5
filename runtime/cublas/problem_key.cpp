#include "runtime/cublas/problem_key.hpp"

#include <cstring>

#include "runtime/cublas/half.hpp"
#include "runtime/cublas/type_pairs.hpp"

namespace tilesmith::cublas {
namespace {

bool is_op(int op) { return op == kOpN || op == kOpT || op == kOpC; }

/// Whether beta is 0. Precondition: it lies on the host.
bool is_zero(const void* beta, int scale_type) noexcept {
  if (scale_type == kF64) {
    double value;
    std::memcpy(&value, beta, sizeof value);
    return value == 0;
  }
  std::uint32_t bits = 0;
  std::memcpy(&bits, beta, scale_type == kF16 ? 2 : 4);
  if (scale_type == kS32) return bits == 0;
  return (bits << (scale_type == kF16 ? 17 : 1)) == 0;  // -0 too
}

Reason take_epilogue(const GemmCall& call, ProblemKey& key) {
  if (call.epilogue != kEpilogueNone) {
    const bool biased = (call.epilogue & kEpilogueBias) != 0;
    switch (call.epilogue & ~kEpilogueBias) {
      case 0: break;
      case kEpilogueRelu: key.activation = TILESMITH_RELU; break;
      case kEpilogueGelu: key.activation = TILESMITH_GELU_TANH; break;  // cuBLASLt's GELU is the tanh form
      default: return Reason::epilogue;
    }
    if (!biased && key.activation == 0) return Reason::epilogue;
    if (biased) {
      const bool narrow = bytes_of(call.type_a) == 1 && bytes_of(call.type_d) != 2;
      if (narrow && call.bias_type < 0) return Reason::epilogue;  // of a type that depends on more than D's
      const int type = call.bias_type < 0 ? call.type_d : call.bias_type;
      if (call.bias == nullptr || (type != call.type_d && type != kF32)) return Reason::epilogue;
      key.bias = type == call.type_d ? TILESMITH_BIAS_N : TILESMITH_BIAS_N_F32;  // an element for each of its rows, our columns
    }
  }
  if (call.scale_a != nullptr || call.scale_b != nullptr) {
    if (call.scale_a == nullptr || call.scale_b == nullptr) return Reason::scales;
    key.scale = call.scales_each ? TILESMITH_SCALE_EACH : TILESMITH_SCALE_ONE;
  }
  return Reason::none;
}

Reason take_batch(const GemmCall& call, ProblemKey& key) {
  if (call.batch < 0) return Reason::bad_arguments;
  if (call.batch == 0) return Reason::empty;
  if (call.batch_kind == BatchKind::single) return Reason::none;
  if (call.batch_kind == BatchKind::strided && call.batch == 1) return Reason::none;
  if (call.stride_a < 0 || call.stride_b < 0 || call.stride_d < 0) return Reason::layout;
  key.batch = call.batch;
  key.batch_kind = std::uint8_t(call.batch_kind);
  if (call.batch_kind == BatchKind::pointers) return Reason::none;
  key.stride_a = call.stride_b;
  key.stride_b = call.stride_a;
  key.stride_c = call.stride_d;
  return Reason::none;
}

/// The largest power of two, 16 at the most, that divides every pointer. Those in arrays are not seen: they are multiples of an element.
std::uint8_t align_of(const GemmCall& call, const ProblemKey& key) {
  if (call.batch_kind == BatchKind::pointers) {
    const int least = bytes_of(call.type_a) > bytes_of(call.type_d) ? bytes_of(call.type_a) : bytes_of(call.type_d);
    return std::uint8_t(least);
  }
  auto bits = std::uintptr_t{16} | reinterpret_cast<std::uintptr_t>(call.a) | reinterpret_cast<std::uintptr_t>(call.b) |
              reinterpret_cast<std::uintptr_t>(call.d);
  if (key.beta_is_zero == 0) bits |= reinterpret_cast<std::uintptr_t>(call.c);
  return std::uint8_t(bits & (~bits + 1));
}

}  // namespace

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

const char* type_pair_name(const ProblemKey& key) { return pair_name(key.pair); }

Reason key_of(const GemmCall& call, ProblemKey& key) noexcept {
  if (call.m == 0 || call.n == 0 || call.k == 0) return Reason::empty;
  if (call.m < 0 || call.n < 0 || call.k < 0 || !is_op(call.op_a) || !is_op(call.op_b)) return Reason::bad_arguments;
  if (call.alpha == nullptr || call.beta == nullptr || call.a == nullptr || call.b == nullptr || call.d == nullptr) return Reason::bad_arguments;
  const bool ta = call.op_a != kOpN, tb = call.op_b != kOpN;
  if (call.lda < (ta ? call.k : call.m) || call.ldb < (tb ? call.n : call.k) || call.ldd < call.m) return Reason::bad_arguments;
  if (const Reason reason = pair_of(call, key.pair); reason != Reason::none) return reason;

  key.m = call.n;
  key.n = call.m;
  key.k = call.k;
  // The stride of a single row means nothing: with it in the key a server's every prompt length would be a problem of its own.
  const auto row_stride = [](std::int64_t rows, std::int64_t columns, std::int64_t given) { return rows == 1 ? columns : given; };
  key.lda = row_stride(tb ? call.k : call.n, tb ? call.n : call.k, call.ldb);
  key.ldb = row_stride(ta ? call.m : call.k, ta ? call.k : call.m, call.lda);
  key.ldc = row_stride(call.n, call.m, call.ldd);
  key.trans_a = tb ? 1 : 0;
  key.trans_b = ta ? 1 : 0;
  if (call.device_scalars) {
    if (call.scale_type == kF16) return Reason::narrow_device_scalars;
    key.scalars_on_device = 1;
    key.beta_is_zero = 0;
  } else {
    key.beta_is_zero = is_zero(call.beta, call.scale_type) ? 1 : 0;
  }
  if (const Reason reason = take_batch(call, key); reason != Reason::none) return reason;
  if (const Reason reason = take_epilogue(call, key); reason != Reason::none) return reason;
  const bool has_terms = key.bias != 0 || key.activation != 0 || key.scale != 0;
  if (key.beta_is_zero == 0 && call.c != call.d) {
    if (call.c == nullptr) return Reason::bad_arguments;
    key.c_is_apart = has_terms ? 0 : 1;  // an epilogue with terms reads C where it lies anyway
  }
  key.align_bytes = align_of(call, key);
  if (key.align_bytes < bytes_of(call.type_a) || key.align_bytes < bytes_of(call.type_d)) return Reason::bad_arguments;
  return Reason::none;
}

tilesmith_strided_batch problem_of(const ProblemKey& key) {
  tilesmith_strided_batch batch{};
  tilesmith_problem& problem = batch.problem;
  std::strncpy(problem.type, type_pair_name(key), sizeof problem.type - 1);
  problem.m = key.m;
  problem.n = key.n;
  problem.k = key.k;
  problem.lda = key.lda;
  problem.ldb = key.ldb;
  problem.ldc = key.ldc;
  problem.align_bytes = key.align_bytes;
  problem.beta_is_zero = key.beta_is_zero;
  problem.transposes[0] = key.trans_a != 0 ? 'T' : 'N';
  problem.transposes[1] = key.trans_b != 0 ? 'T' : 'N';
  problem.bias = key.bias;
  problem.activation = key.activation;
  problem.scale_m = problem.scale_n = std::int8_t(key.scale);
  problem.c_is_apart = key.c_is_apart;
  problem.scalars_on_device = key.scalars_on_device;
  if (key.batch_kind == std::uint8_t(BatchKind::single)) return batch;
  problem.batch_size = sizeof batch;
  batch.count = key.batch;
  const bool pointers = key.batch_kind == std::uint8_t(BatchKind::pointers);
  batch.stride_a = pointers ? TILESMITH_BY_POINTERS : key.stride_a;
  batch.stride_b = pointers ? TILESMITH_BY_POINTERS : key.stride_b;
  batch.stride_c = pointers ? TILESMITH_BY_POINTERS : key.stride_c;
  return batch;
}

bool workload_line(const ProblemKey& key, const Judge& judge, std::string& line) {
  const tilesmith_strided_batch asked = problem_of(key);
  char text[512];
  const bool is_good = judge.text(&asked.problem, text, sizeof text) == TILESMITH_OK;
  line = is_good ? text : judge.last_error();
  return is_good;
}

tilesmith_run_args run_args_of(const GemmCall& call, Scalars& scalars) noexcept {
  tilesmith_run_args args{};
  args.size = sizeof args;
  args.alpha = call.alpha;
  args.beta = call.beta;
  if (!call.device_scalars && call.scale_type == kF16) {
    scalars.alpha = from_f16_at(call.alpha);
    scalars.beta = from_f16_at(call.beta);
    args.alpha = &scalars.alpha;
    args.beta = &scalars.beta;
  }
  args.a = call.b;
  args.b = call.a;
  args.c = call.c;
  args.d = call.d;
  args.bias = call.bias;
  args.scale_m = call.scale_b;
  args.scale_n = call.scale_a;
  return args;
}

}  // namespace tilesmith::cublas
