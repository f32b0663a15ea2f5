#include "runtime/interface/c_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "kernels/families/user/load.hpp"
#include "kernels/problem/operand.hpp"

namespace tilesmith::runtime {
namespace {

// Of version 0.1: a shorter struct is none.
constexpr std::size_t kFirstOptionsBytes = 24;
constexpr std::size_t kFirstProblemBytes = offsetof(tilesmith_problem, lda);
constexpr std::size_t kLargestStruct = 4096;  // of a later version
constexpr std::size_t kFirstRunBytes = offsetof(tilesmith_run, operands) + (TILESMITH_D + 1) * sizeof(void*);

static_assert(sizeof(tilesmith_problem) == 152, "programs that were compiled before, and Python's, use this layout");
static_assert(TILESMITH_OPERANDS == kOperandRoleCount && TILESMITH_D == int(OperandRole::d) &&
                  TILESMITH_BIAS == int(OperandRole::bias) && TILESMITH_BETA == int(OperandRole::beta) &&
                  TILESMITH_WEIGHT_ZEROS == int(OperandRole::weight_zeros),
    "operands have one order in C and C++");

constexpr tilesmith_problem kDefaultProblem = TILESMITH_PROBLEM;
constexpr tilesmith_options kDefaultOptions = TILESMITH_OPTIONS;

Error bad_argument(const std::string& what) { return {ErrorCode::bad_argument, what}; }

template <std::size_t Bytes>
void put_text(char (&field)[Bytes], std::string_view text) {
  if (text.size() >= Bytes) throw Error(ErrorCode::internal, fmt::format("'{}' is too long for C", text));
  text.copy(field, text.size());
}

const TypePair& type_of(std::string_view name) {
  if (const TypePair* type = find_type_pair(name)) return *type;
  if (name.empty()) throw bad_argument("type is empty: expected a type pair such as f16f32");
  throw bad_argument(unknown_type_pair(name));
}

Transposes transposes_of(std::string_view name) {
  if (const auto trans = parse_transposes(name)) return *trans;
  throw bad_argument(fmt::format("unknown transposes '{}': expected NN, NT, TN or TT", name));
}

Weights weights_of(std::string_view text) {
  if (text.empty()) return {};
  if (const auto weights = parse_weights(text)) return *weights;
  throw bad_argument(
      fmt::format("weights is '{}': expected s4, u4, s8, e4m3, e2m1 or nf4, then _g32, _g64, _g128 or _column, "
                  "then +zeros (not of e2m1, nf4), +f32; or q4_k or q6_k",
          text));
}

/// Calls `take(name, number in C, value in C++, last value)` for each field that is one of a few.
template <typename Signature, typename CProblem, typename Take>
void each_choice(CProblem& in_c, Signature& signature, Take&& take) {
  take("activation", in_c.activation, signature.epilogue.activation, Activation(std::size(kActivations) - 1));
  take("bias", in_c.bias, signature.epilogue.bias, Bias::along_m);
  take("scale_m", in_c.scale_m, signature.epilogue.scale_m, Scaling::block);
  take("scale_n", in_c.scale_n, signature.epilogue.scale_n, Scaling::block);
  take("bias_is_f32", in_c.bias_is_f32, signature.epilogue.bias_is_f32, true);
  take("c_is_apart", in_c.c_is_apart, signature.epilogue.c_apart, true);
  take("scalars_on_device", in_c.scalars_on_device, signature.scalars, Scalars::device);
  take("sparsity", in_c.sparsity, signature.sparsity, Sparsity::b);
  take("batch_mode", in_c.batch_mode, signature.batch_mode, BatchMode::grouped);
}

/// A struct of any version as this one has it. Fields that came after the application was compiled get their
/// defaults.
template <typename Struct>
Struct of_any_version(const char* type, const Struct& from, const Struct& defaults, std::size_t first) {
  if (from.size == sizeof from) return from;
  Struct known = defaults;
  check_size(type, from.size, first, kLargestStruct, sizeof known);
  std::memcpy(&known, &from, std::min(from.size, sizeof known));
  const auto* bytes = reinterpret_cast<const unsigned char*>(&from);
  const bool has_more = std::any_of(
      bytes + std::min(from.size, sizeof known), bytes + from.size, [](unsigned char byte) { return byte != 0; });
  if (has_more)
    throw bad_argument(
        fmt::format("a {} holds a field that version {} does not know: expected 0 there", type, version()));
  return known;
}

double read_scale(const void* value, Scalar type, double otherwise) {
  const auto as = [value](auto number) {
    std::memcpy(&number, value, sizeof number);
    return double(number);
  };
  if (value == nullptr) return otherwise;
  return type == Scalar::s32 ? as(std::int32_t{}) : type == Scalar::f64 ? as(double{}) : as(float{});
}

}  // namespace

void check_size(const char* type, std::size_t size, std::size_t least, std::size_t most, std::size_t now) {
  if (size >= least && size <= most) return;
  throw bad_argument(
      fmt::format("the size of a {0} is {1}: expected sizeof({0}), {2} bytes in this version", type, size, now));
}

std::size_t known_size(const tilesmith_problem& from) {
  check_size("tilesmith_problem", from.size, kFirstProblemBytes, kLargestStruct, sizeof from);
  return from.size;
}

Problem to_problem(const tilesmith_problem& given) {
  const tilesmith_problem from = of_any_version("tilesmith_problem", given, kDefaultProblem, kFirstProblemBytes);
  KernelSignature signature{type_of(text_in(from.type)), transposes_of(text_in(from.transposes))};
  each_choice(from, signature, [](const char* field, auto number, auto& value, auto last) {
    if (number < 0 || number > int(last))
      throw bad_argument(fmt::format("{} is {}: expected 0 to {}", field, int(number), int(last)));
    value = decltype(last)(number);
  });
  signature.weights = weights_of(text_in(from.weights));
  Problem problem = packed_problem(signature, from.m, from.n, from.k);
  const auto take = [](std::int64_t& stride, std::int64_t number, std::int64_t packed) {
    if (number != packed) stride = number;
  };
  take(problem.lda, from.lda, 0);
  take(problem.ldb, from.ldb, 0);
  take(problem.ldc, from.ldc, 0);
  problem.align_bytes = from.align_bytes;
  problem.beta = from.beta_is_zero != 0 ? BetaClass::zero : BetaClass::any;
  problem.batch = from.batch;
  problem = with_packed_strides(problem);
  take(problem.stride_a, from.stride_a, TILESMITH_PACKED);
  take(problem.stride_b, from.stride_b, TILESMITH_PACKED);
  take(problem.stride_c, from.stride_c, TILESMITH_PACKED);
  return problem;
}

void write_problem(const Problem& problem, tilesmith_problem& to) {
  const std::size_t size = to.size;
  check_size("tilesmith_problem", size, kFirstProblemBytes, kLargestStruct, sizeof to);
  const Problem packed = packed_problem(problem, problem.m, problem.n, problem.k),
                behind = with_packed_strides(problem);
  const auto or_packed = [](std::int64_t stride, std::int64_t packed_stride, std::int64_t word) {
    return stride == packed_stride ? word : stride;
  };
  tilesmith_problem made = TILESMITH_PROBLEM_OF("", "", problem.m, problem.n, problem.k);
  put_text(made.type, problem.type.name);
  put_text(made.transposes, name(problem.trans));
  each_choice(made, problem,
      [](const char*, auto& number, auto value, auto) { number = std::decay_t<decltype(number)>(value); });
  if (has_weights(problem)) put_text(made.weights, name(problem.weights));
  made.lda = or_packed(problem.lda, packed.lda, 0);
  made.ldb = or_packed(problem.ldb, packed.ldb, 0);
  made.ldc = or_packed(problem.ldc, packed.ldc, 0);
  made.align_bytes = problem.align_bytes;
  made.beta_is_zero = problem.beta == BetaClass::zero ? 1 : 0;
  made.batch = problem.batch;
  made.stride_a = or_packed(problem.stride_a, behind.stride_a, TILESMITH_PACKED);
  made.stride_b = or_packed(problem.stride_b, behind.stride_b, TILESMITH_PACKED);
  made.stride_c = or_packed(problem.stride_c, behind.stride_c, TILESMITH_PACKED);
  const auto *bytes = reinterpret_cast<const char*>(&made), *usual = reinterpret_cast<const char*>(&kDefaultProblem);
  if (size < sizeof made && std::memcmp(bytes + size, usual + size, sizeof made - size) != 0)
    throw bad_argument(
        fmt::format("{}: the size of the tilesmith_problem is {}, which has no field for that", text(problem), size));
  made.size = size;
  std::memset(&to, 0, size);
  std::memcpy(&to, &made, std::min(size, sizeof made));
}

LibraryOptions to_options(const tilesmith_options& from) {
  const tilesmith_options known = of_any_version("tilesmith_options", from, kDefaultOptions, kFirstOptionsBytes);
  LibraryOptions options;
  options.device = known.device;
  options.allow_compile = known.allow_compile != 0;
  options.log_misses = known.log_misses != 0;
  if (known.trial_budget < 0)
    throw bad_argument(fmt::format("trial_budget is {}: expected a number of candidates, or 0", known.trial_budget));
  options.trial_budget = known.trial_budget;
  if (known.trial_database != nullptr) options.trial_database = known.trial_database;
  if (known.family_dirs != nullptr) options.family_dirs = folders_of(known.family_dirs);
  options.early_in_graphs = known.early_in_graphs != 0;
  return options;
}

tilesmith_run checked_run(const tilesmith_run& from) {
  return of_any_version("tilesmith_run", from, tilesmith_run{}, kFirstRunBytes);
}

Operands to_operands(const tilesmith_run& run, const Problem& problem) {
  const auto& at = run.operands;
  Operands operands{.a = at[TILESMITH_A],
      .b = at[TILESMITH_B],
      .c = at[TILESMITH_C],
      .d = const_cast<void*>(at[TILESMITH_D]),
      .scale_m = at[TILESMITH_SCALE_M],
      .scale_n = at[TILESMITH_SCALE_N],
      .bias = at[TILESMITH_BIAS],
      .offsets = at[TILESMITH_OFFSETS],
      .metadata = at[TILESMITH_METADATA],
      .weight_scales = at[TILESMITH_WEIGHT_SCALES],
      .weight_zeros = at[TILESMITH_WEIGHT_ZEROS]};
  if (problem.scalars == Scalars::device) {
    operands.device_alpha = at[TILESMITH_ALPHA];
    operands.device_beta = at[TILESMITH_BETA];
  } else {
    operands.alpha = read_scale(at[TILESMITH_ALPHA], problem.type.scale, 1);
    operands.beta = read_scale(at[TILESMITH_BETA], problem.type.scale, 0);
  }
  return operands;
}

}  // namespace tilesmith::runtime
