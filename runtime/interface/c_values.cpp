#include "runtime/interface/c_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "kernels/user/load.hpp"
#include "runtime/interface/tilesmith_weights.h"

namespace tilesmith::runtime {
namespace {

constexpr std::size_t kFirstRunArgsBytes = 64;
constexpr std::size_t kFirstOptionsBytes = 24;  // of version 0.1, before any field was added
static_assert(sizeof(tilesmith_options) >= kFirstOptionsBytes && sizeof(tilesmith_run_args) >= kFirstRunArgsBytes);
static_assert(sizeof(tilesmith_strided_batch) == sizeof(tilesmith_problem) + 4 * sizeof(std::int64_t) && offsetof(tilesmith_strided_batch, problem) == 0,
              "what stands behind the problem");
static_assert(sizeof(tilesmith_grouped) == sizeof(tilesmith_problem) + 2 * sizeof(std::int64_t) && offsetof(tilesmith_grouped, problem) == 0,
              "what stands behind the problem");
static_assert(sizeof(tilesmith_weighted) == sizeof(tilesmith_problem) + 24 && offsetof(tilesmith_weighted, problem) == 0, "what stands behind the problem");
static_assert(sizeof(tilesmith_problem) == 104 && offsetof(tilesmith_problem, m) == 16,
              "programs that were compiled before, and Python's, know this layout");

Error bad_argument(const std::string& what) { return {ErrorCode::bad_argument, what}; }

template <std::size_t Bytes>
std::string_view text_in(const char (&field)[Bytes]) {
  return {field, ::strnlen(field, Bytes)};
}

const TypePair& type_of(std::string_view name) {
  if (const TypePair* type = find_type_pair(name)) return *type;
  if (name.empty()) throw bad_argument("type is empty: expected a problem filled by tilesmith_problem_init");
  throw bad_argument(unknown_type_pair(name));
}

Transposes transposes_of(std::string_view name) {
  if (const auto trans = parse_transposes(name)) return *trans;
  throw bad_argument(fmt::format("unknown transposes '{}': expected NN, NT, TN or TT", name));
}

tilesmith_options default_options() {
  const LibraryOptions options;
  return {sizeof(tilesmith_options), options.device, options.allow_compile ? 1 : 0, options.log_misses ? 1 : 0, options.trial_budget,
          nullptr, nullptr, options.early_in_graphs ? 1 : 0};
}

Epilogue epilogue_of(const tilesmith_problem& from) {
  if (from.bias < TILESMITH_NO_BIAS || from.bias > TILESMITH_BIAS_M_F32)
    throw bad_argument(fmt::format("bias is {}: expected a tilesmith_bias", from.bias));
  if (from.activation < TILESMITH_IDENTITY || from.activation >= int(std::size(kActivations)))
    throw bad_argument(fmt::format("activation is {}: expected a tilesmith_activation", from.activation));
  for (const auto& [field, value] : {std::pair{"scale_m", from.scale_m}, {"scale_n", from.scale_n}}) {
    if (value < TILESMITH_UNSCALED || value > TILESMITH_SCALE_EACH) throw bad_argument(fmt::format("{} is {}: expected a tilesmith_scaling", field, int(value)));
  }
  constexpr Bias kBiases[] = {Bias::none, Bias::along_n, Bias::along_m, Bias::along_n, Bias::along_m};
  return {from.c_is_apart != 0, Scaling(from.scale_m), Scaling(from.scale_n), kBiases[from.bias], from.bias >= TILESMITH_BIAS_N_F32, Activation(from.activation)};
}

/// `first`: bytes of the struct's first version.
void check_size(const char* type, std::size_t size, std::size_t first, std::size_t now) {
  if (size >= first && size <= 4096) return;
  throw bad_argument(fmt::format("the size of a {0} is {1}: expected sizeof({0}), {2} bytes in this version", type, size, now));
}

/// A struct of any version as this one knows it. `known` has the values of fields that came after the application was compiled.
template <typename Struct>
Struct of_any_version(const char* type, const Struct& from, Struct known, std::size_t first) {
  check_size(type, from.size, first, sizeof known);
  std::memcpy(&known, &from, std::min(from.size, sizeof known));
  const auto* bytes = reinterpret_cast<const unsigned char*>(&from);
  const bool has_more = std::any_of(bytes + std::min(from.size, sizeof known), bytes + from.size,
                                    [](unsigned char byte) { return byte != 0; });
  if (has_more) throw bad_argument(fmt::format("a {} holds a field that version {} does not know: expected 0 there", type, version()));
  return known;
}

// Structs of different sizes that begin alike: by its size a problem knows what it is part of.
static_assert(sizeof(tilesmith_weighted_grouped) != sizeof(tilesmith_strided_batch) && offsetof(tilesmith_weighted_grouped, weights) == offsetof(tilesmith_weighted, weights));

bool is_weighted(const tilesmith_problem& from) { return from.batch_size == std::int64_t(sizeof(tilesmith_weighted)); }
bool is_weighted_grouped(const tilesmith_problem& from) { return from.batch_size == std::int64_t(sizeof(tilesmith_weighted_grouped)); }

Weights weights_of(const tilesmith_problem& from) {
  const std::string_view text = text_in(reinterpret_cast<const tilesmith_weighted&>(from).weights);
  if (const auto weights = parse_weights(text)) return *weights;
  throw bad_argument(fmt::format("weights is '{}': expected s4, u4, s8, e4m3, e2m1 or nf4, then _g32, _g64, _g128 or _column, then +zeros (not of e2m1, nf4), +f32", text));
}

/// Precondition: batch_size is not 0, so that the problem is the first member of a batch, or of groups.
Problem batch_of(const tilesmith_problem& from, const Problem& entry) {
  if (from.batch_size == std::int64_t(sizeof(tilesmith_grouped))) {
    const auto& groups = reinterpret_cast<const tilesmith_grouped&>(from);
    Problem problem = grouped(entry, groups.groups);
    if (groups.stride_b != TILESMITH_PACKED) problem.stride_b = groups.stride_b;
    return problem;
  }
  if (is_weighted_grouped(from)) {
    const auto& groups = reinterpret_cast<const tilesmith_weighted_grouped&>(from);
    if (groups.reserved != 0) throw bad_argument("a reserved field is not 0: expected a problem filled by tilesmith_weighted_grouped_init");
    return grouped(entry, groups.groups);
  }
  if (from.batch_size != std::int64_t(sizeof(tilesmith_strided_batch)))
    throw bad_argument(fmt::format("batch_size is {}: expected 0, or a tilesmith_strided_batch of {} bytes, filled by tilesmith_strided_batch_init, or a "
                                   "tilesmith_grouped of {}, or a tilesmith_weighted of {}, or a tilesmith_weighted_grouped of {}, filled alike",
                                   from.batch_size, sizeof(tilesmith_strided_batch), sizeof(tilesmith_grouped), sizeof(tilesmith_weighted), sizeof(tilesmith_weighted_grouped)));
  const auto& batch = reinterpret_cast<const tilesmith_strided_batch&>(from);
  const bool by_pointer[] = {batch.stride_a == TILESMITH_BY_POINTERS, batch.stride_b == TILESMITH_BY_POINTERS, batch.stride_c == TILESMITH_BY_POINTERS};
  if (by_pointer[0] && by_pointer[1] && by_pointer[2]) return by_pointers(entry, batch.count);
  if (by_pointer[0] || by_pointer[1] || by_pointer[2])
    throw bad_argument("one stride is TILESMITH_BY_POINTERS and another is not: expected all three of stride_a, stride_b and stride_c, or none");
  Problem problem = batched(entry, batch.count);
  const auto take = [](std::int64_t& stride, std::int64_t given) { stride = given == TILESMITH_PACKED ? stride : given; };
  take(problem.stride_a, batch.stride_a);
  take(problem.stride_b, batch.stride_b);
  take(problem.stride_c, batch.stride_c);
  return problem;
}

}  // namespace

tilesmith_problem named_problem(const char* type, const char* transposes) {
  tilesmith_problem problem{};
  const std::string_view name = type_of(type).name;
  transposes_of(transposes);
  if (name.size() >= sizeof problem.type) throw Error(ErrorCode::internal, "a type pair's name is too long for C");
  name.copy(problem.type, name.size());
  std::memcpy(problem.transposes, transposes, 2);
  return problem;
}

Problem to_problem(const tilesmith_problem& from) {
  const TypePair& type = type_of(text_in(from.type));
  const Transposes trans = transposes_of(text_in(from.transposes));
  for (const auto reserved : from.reserved) {
    if (reserved != 0) throw bad_argument("a reserved field is not 0: expected a problem filled by tilesmith_problem_init");
  }
  KernelSignature signature{type, trans, epilogue_of(from)};
  if (from.sparsity < TILESMITH_DENSE || from.sparsity > TILESMITH_B_2TO4) throw bad_argument(fmt::format("sparsity is {}: expected a tilesmith_sparsity", int(from.sparsity)));
  signature.sparsity = Sparsity(from.sparsity);
  if (is_weighted(from) || is_weighted_grouped(from)) signature.weights = weights_of(from);
  if (signature.epilogue.has_terms()) signature.epilogue.c_apart = false;  // implied
  Problem problem = packed_problem(signature, from.m, from.n, from.k);
  if (from.lda != 0) problem.lda = from.lda;
  if (from.ldb != 0) problem.ldb = from.ldb;
  if (from.ldc != 0) problem.ldc = from.ldc;
  problem.align_bytes = from.align_bytes;
  problem.scalars = from.scalars_on_device != 0 ? Scalars::device : Scalars::host;
  problem.beta = from.beta_is_zero != 0 ? BetaClass::zero : BetaClass::any;
  return from.batch_size == 0 || is_weighted(from) ? problem : batch_of(from, problem);
}

void write_default_options(void* options, std::size_t size) {
  check_size("tilesmith_options", size, kFirstOptionsBytes, sizeof(tilesmith_options));
  tilesmith_options defaults = default_options();
  defaults.size = size;
  std::memset(options, 0, size);
  std::memcpy(options, &defaults, std::min(size, sizeof defaults));
}

LibraryOptions to_options(const tilesmith_options& from) {
  const tilesmith_options known = of_any_version("tilesmith_options", from, default_options(), kFirstOptionsBytes);
  LibraryOptions options;
  options.device = known.device;
  options.allow_compile = known.allow_compile != 0;
  options.log_misses = known.log_misses != 0;
  if (known.trial_budget < 0) throw bad_argument(fmt::format("trial_budget is {}: expected a number of candidates, or 0", known.trial_budget));
  options.trial_budget = known.trial_budget;
  if (known.trial_database != nullptr) options.trial_database = known.trial_database;
  if (known.family_dirs != nullptr) options.family_dirs = folders_of(known.family_dirs);
  options.early_in_graphs = known.early_in_graphs != 0;
  return options;
}

void take_scalars(const Problem& problem, const void* alpha, const void* beta, Operands& operands) {
  if (problem.scalars == Scalars::device) {
    if (alpha == nullptr || (beta == nullptr && problem.beta == BetaClass::any)) throw bad_argument("alpha or beta is null: expected device memory (scalars_on_device)");
    operands.device_alpha = alpha;
    operands.device_beta = beta;
    return;
  }
  if (alpha == nullptr || beta == nullptr) throw bad_argument("alpha or beta is null: expected host memory");
  operands.alpha = read_scale(alpha, problem.type.scale);
  operands.beta = read_scale(beta, problem.type.scale);
}

Operands to_operands(const tilesmith_run_args& from, const Problem& problem) {
  const tilesmith_run_args known = of_any_version("tilesmith_run_args", from, tilesmith_run_args{}, kFirstRunArgsBytes);
  Operands operands;
  take_scalars(problem, known.alpha, known.beta, operands);
  operands.a = known.a;
  operands.b = known.b;
  operands.c = known.c;
  operands.d = known.d;
  operands.scale_m = known.scale_m;
  operands.scale_n = known.scale_n;
  operands.bias = known.bias;
  operands.offsets = known.offsets;
  operands.metadata = known.metadata;
  operands.weight_scales = known.weight_scales;
  operands.weight_zeros = known.weight_zeros;
  return operands;
}

double read_scale(const void* value, Scalar type) {
  switch (type) {
    case Scalar::s32: {
      std::int32_t integer;
      std::memcpy(&integer, value, sizeof integer);
      return integer;
    }
    case Scalar::f64: {
      double real;
      std::memcpy(&real, value, sizeof real);
      return real;
    }
    default: {
      float real;
      std::memcpy(&real, value, sizeof real);
      return real;
    }
  }
}

}  // namespace tilesmith::runtime
