// hipBLASLt's and rocBLAS's logs of what their benchmarks would be called with: cuBLAS's terms, column-major. Options
// and defaults are those of clients/benchmarks/client.cpp there, and of what the libraries print: tensile_host.cpp,
// rocblas_gemm_imp.hpp, rocblas_gemm_ex_imp.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tuner/logs/formats.hpp"

namespace tilesmith::tuner {
namespace {

using namespace cublas;

constexpr NamedValue kComputes[] = {{"f32_r", kCompute32F}, {"s", kCompute32F}, {"c_f32_r", kCompute32F},
    {"xf32_r", kCompute32FFastTf32}, {"f64_r", kCompute64F}, {"d", kCompute64F}, {"f16_r", kCompute16F},
    {"x", kCompute32FFastTf32}, {"i32_r", kCompute32I}, {"i", kCompute32I}, {"i_r32", kCompute32I},
    {"f32_f16_r", kCompute32FFast16F}, {"h", kCompute16F}, {"f32_bf16_r", kCompute32FFast16BF}};
constexpr NamedValue kActivations[] = {{"none", 0}, {"relu", kEpilogueRelu}, {"gelu", kEpilogueGelu}};
constexpr NamedValue kScales[] = {{"0", 0}, {"1", 1}, {"s", 1}, {"2", 2}, {"v", 2}};  // none, one, one each
constexpr std::string_view kOtherNames[][2] = {{"sizem", "m"}, {"sizen", "n"}, {"sizek", "k"}, {"precision", "r"},
    {"function", "f"}, {"batch", "batch_count"}, {"transposeA", "transA"}, {"transposeB", "transB"}};

// An option that is in neither list may change what the line means.
constexpr std::string_view kFlags =
    " any_stride swizzleA swizzleB HMM bias_vector scaleC scaleD scaleAlpha_vector amaxScaleA amaxScaleB amaxD use_e gradient use_user_args c_equal_d z "
    "log_function_name print_kernel_info use_gpu_timer flush dump_matrix outofplace atomics_allowed atomics_not_allowed fortran log_datatype ";
constexpr std::string_view kWithValue =
    " m n k r f lda ldb ldc ldd lde stride_a stride_b stride_c stride_d stride_e alpha alphai beta betai a_type b_type c_type d_type compute_type aux_type "
    "compute_input_typeA compute_input_typeB scale_type bias_type bias_source bias_stride transA transB batch_count batch_mode scaleA scaleB "
    "scaleABlockRowSize scaleABlockColSize scaleBBlockRowSize scaleBBlockColSize activation_type activation_arg1 activation_arg2 grouped_gemm api "
    "api_method algo algo_method solution_index requested_solution flags math_mode splitk wgm rotating iters i cold_iters j test t verify v "
    "initialization init device parallel_devices workspace workspace_size function_filter name_filter skip_slow_solution_ratio flush_batch_count "
    "flush_memory_size ";

/// Options by name, without dashes; a flag may have an empty value.
class Options {
 public:
  explicit Options(const std::vector<std::string_view>& words, std::size_t first) {
    for (std::size_t i = first; i < words.size(); ++i) {
      if (!is_option(words[i]))
        throw fmt::format("'{}', expected an option such as -m or --transA", shown_word(words[i]));
      std::string_view name = words[i].substr(words[i].find_first_not_of('-'));
      for (const auto& [other, one] : kOtherNames) name = name == other ? one : name;
      if (!is_in(kFlags, name) && !is_in(kWithValue, name)) unknown_ = name;
      const bool has_value = i + 1 < words.size() && !is_option(words[i + 1]) &&
                             (!is_in(kFlags, name) || is_in(" 0 1 true false ", words[i + 1]));
      if (!values_.emplace(name, has_value ? words[++i] : std::string_view{}).second && !has("grouped_gemm"))
        throw fmt::format("-{} twice, expected one product a line", shown_word(name));
      if (has_value && words[i].find("--") != std::string_view::npos)
        throw fmt::format("'{}', expected a space before --", shown_word(words[i]));
    }
  }
  void require_known() const {
    if (!unknown_.empty())
      throw fmt::format("unknown option '{}', expected one of the program's", shown_word(unknown_));
  }
  void require(std::initializer_list<std::string_view> names, const char* also) const {
    for (const std::string_view name : names) {
      if (!has(name)) throw fmt::format("no --{} in the line, expected one{}", name, also);
    }
  }
  bool has(std::string_view name) const { return values_.count(name) != 0; }
  bool is_on(std::string_view flag) const { return has(flag) && !is_in(" 0 false ", values_.at(flag)); }
  std::string_view get(std::string_view name, std::string_view otherwise) const {
    if (has(name) && values_.at(name).empty()) throw fmt::format("-{} has no value, expected one", name);
    return has(name) ? values_.at(name) : otherwise;
  }
  int named(const auto& table, std::string_view name, std::string_view otherwise) const {
    return value_named(table, get(name, otherwise), kUnserved);
  }
  std::int64_t integer(std::string_view name, std::int64_t otherwise, std::int64_t least = 0) const {
    return has(name) ? integer_of(values_.at(name), name, least) : otherwise;
  }
  std::int64_t size(std::string_view name) const {
    if (!has(name)) throw fmt::format("no -{} in the line, expected -m, -n and -k", name);
    return integer_of(values_.at(name), name);
  }

 private:
  static bool is_option(std::string_view word) {
    const std::size_t name = word.find_first_not_of('-');
    return name != 0 && name != std::string_view::npos && !is_in(" inf nan ", word.substr(name)) &&
           (word[name] < '0' || word[name] > '9') && word[name] != '.';
  }
  std::map<std::string_view, std::string_view> values_;
  std::string_view unknown_;
};

void take_problem(const Options& options, bool is_rocblas, BatchKind batches, GemmCall& call) {
  call.m = options.size("m");
  call.n = options.size("n");
  call.k = options.size("k");
  call.op_a = transpose_of(options.get("transA", "N"), "N, T or C");
  call.op_b = transpose_of(options.get("transB", "N"), "N, T or C");
  const bool ta = call.op_a != kOpN, tb = call.op_b != kOpN;
  const std::int64_t least = is_rocblas ? 128 : 0;  // rocblas-bench has 128, and raises it to what is needed
  call.lda = options.integer("lda", std::max(least, ta ? call.k : call.m));
  call.ldb = options.integer("ldb", std::max(least, tb ? call.n : call.k));
  call.ldd = options.integer("ldd", options.integer("ldc", std::max(least, call.m)));
  call.batch = options.integer("batch_count", 1);
  call.batch_kind = is_rocblas || call.batch != 1 ? batches : BatchKind::single;
  if (!is_rocblas && options.integer("batch_mode", 0) != 0) call.batch_kind = BatchKind::pointers;
  call.stride_a = options.integer("stride_a", packed_stride(call.lda, ta ? call.m : call.k), kLeastInteger);
  call.stride_b = options.integer("stride_b", packed_stride(call.ldb, tb ? call.k : call.n), kLeastInteger);
  call.stride_d = options.integer(
      "stride_d", options.integer("stride_c", packed_stride(call.ldd, call.n), kLeastInteger), kLeastInteger);
  call.beta = scalar_of_a_log(number_of(options.get("beta", "0"), "beta") == 0);
}

void take_element_types(const Options& options, bool is_rocblas, GemmCall& call) {
  // A log has -r, or all types. A line that has less was cut.
  if (!options.has("r"))
    options.require({"a_type", "b_type", options.has("c_type") ? "c_type" : "d_type", "compute_type"}, ", or -r");
  const std::string_view all = options.get("r", "");
  call.type_a = options.named(kElementTypes, "a_type", all);
  call.type_b = options.named(kElementTypes, "b_type", all);
  call.type_d = options.named(kElementTypes, options.has("d_type") ? "d_type" : "c_type", all);
  call.compute = options.named(
      kComputes, "compute_type", is_rocblas ? all : "f32_r");  // hipblaslt-bench sums in f32, whatever -r is
  if (call.compute == kCompute32F && options.integer("math_mode", 0) != 0) call.compute = kCompute32FFastTf32;
  call.scale_type =
      options.has("scale_type") ? options.named(kElementTypes, "scale_type", "") : scale_type_of(call.compute);
  call.fast_accum = true;  // they have no other
}

/// Whether C is read and is not where D is, or A or B is not stored as cuBLAS has them: swizzled, or four bytes packed,
/// as before ROCm 6.
bool is_other_layout(const Options& options, const GemmCall& call) {
  const bool is_other_c = options.integer("ldc", call.ldd) != call.ldd ||
                          (options.has("c_type") && options.named(kElementTypes, "c_type", "") != call.type_d) ||
                          (call.batch_kind == BatchKind::strided &&
                              options.integer("stride_c", call.stride_d, kLeastInteger) != call.stride_d);
  return (is_other_c && call.beta != scalar_of_a_log(true)) || options.is_on("swizzleA") || options.is_on("swizzleB") ||
         options.integer("batch_mode", 0) > 1 || (call.type_a == kS8 && options.integer("flags", 0) % 2 != 0);
}

/// Epilogue and scales; Reason::none, or why there is no kernel.
Reason take_terms(const Options& options, GemmCall& call) {
  const int activation = options.named(kActivations, "activation_type", "none");
  const bool is_biased = options.is_on("bias_vector");
  if (activation == kUnserved || options.is_on("use_e") || options.is_on("gradient") ||
      options.get("bias_source", "d") != "d")
    return Reason::epilogue;
  call.epilogue = is_biased ? kEpilogueBias | activation : activation != 0 ? activation : kEpilogueNone;
  if (is_biased) {
    call.bias = call.a;
    call.bias_type =
        options.get("bias_type", "default") == "default" ? -1 : options.named(kElementTypes, "bias_type", "");
    if (call.batch != 1 && options.integer("bias_stride", 0, kLeastInteger) != 0) return Reason::epilogue;
  }
  for (const char* other : {"scaleC", "scaleD", "scaleAlpha_vector", "amaxScaleA", "amaxScaleB", "amaxD"}) {
    if (options.is_on(other)) return Reason::scales;
  }
  const int a = options.named(kScales, "scaleA", "0");
  if (a == kUnserved || a != options.named(kScales, "scaleB", "0")) return Reason::scales;
  if (a != 0) call.scale_a = call.scale_b = call.a;
  call.scale_mode_a = call.scale_mode_b = a == 2 ? kScaleEach : kScaleOne;
  return Reason::none;
}

/// `is_logged`: the line is as rocBLAS prints it, not as one types it.
void read_options(
    const Options& options, bool is_rocblas, BatchKind batches, bool is_logged, std::uint64_t times, Calls& calls) {
  if (options.has("yaml") || options.has("data"))
    return calls.leave_out("problems of another file (--yaml, --data)", times);
  if (options.is_on("grouped_gemm")) return calls.leave_out(Reason::layout, times);
  options.require_known();
  GemmCall call = call_of_a_log();
  take_problem(options, is_rocblas, batches, call);
  if (is_logged) options.require({"lda", "ldb", "ldc", batches == BatchKind::single ? "ldc" : "batch_count"}, "");
  take_element_types(options, is_rocblas, call);
  if (call.type_a == kUnserved || call.type_b == kUnserved || call.type_d == kUnserved ||
      options.has("compute_input_typeA") || options.has("compute_input_typeB"))
    return calls.leave_out(Reason::types, times);
  const Reason why = is_other_layout(options, call) ? Reason::layout : take_terms(options, call);
  if (why != Reason::none) return calls.leave_out(why, times);
  calls.add(call, times);
}

}  // namespace

bool read_bench_line(std::string_view line, Calls& calls) {
  constexpr std::int64_t kMostCalls = 1'000'000'000'000;  // so that their sum does not wrap
  std::vector<std::string_view> words;
  for (const std::string_view word : split_at(line, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  std::size_t at = 0;
  while (at < words.size() && !words[at].ends_with("hipblaslt-bench") && !words[at].ends_with("rocblas-bench")) ++at;
  if (at + 1 >= words.size() || words[at + 1][0] != '-') return false;  // "rocblas-bench INFO: .." too
  const bool is_counted = at > 0 && words[at - 1].find_first_not_of("0123456789") == std::string_view::npos;
  const std::uint64_t times =
      is_counted ? std::uint64_t(integer_of(words[at - 1], "the number of calls", 1, kMostCalls)) : 1;
  const Options options(words, at + 1);
  const bool is_logged = line.find(" --transposeA ") < line.find(" -m ");  // rocBLAS prints them in this order
  std::string_view function = options.get("f", "");
  function.remove_suffix(function.ends_with("_ex") ? 3 : 0);
  if (words[at].ends_with("hipblaslt-bench")) read_options(options, false, BatchKind::strided, false, times, calls);
  else if (function == "gemm") read_options(options, true, BatchKind::single, is_logged, times, calls);
  else if (function == "gemm_strided_batched") read_options(options, true, BatchKind::strided, is_logged, times, calls);
  else if (function == "gemm_batched") read_options(options, true, BatchKind::pointers, is_logged, times, calls);
  else calls.leave_out("a function of rocBLAS that is no such product", times);
  return true;
}

int form_of_bench_line(std::string_view line) {
  if (line.find("hipblaslt-bench --api_method") == std::string_view::npos) return -1;
  return line.find(" --iters") == std::string_view::npos ? 0 : 1;
}

}  // namespace tilesmith::tuner
