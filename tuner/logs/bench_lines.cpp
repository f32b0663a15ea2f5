// hipBLASLt's and rocBLAS's logs of what their benchmarks would be called with: cuBLAS's terms, column-major.
#include <fmt/format.h>

#include <map>

#include "tuner/logs/formats.hpp"
#include "tuner/logs/words.hpp"

namespace tilesmith::tuner {
namespace {

using namespace cublas;

constexpr int kUnserved = 1 << 20;  // what is known there and not here

constexpr NamedValue kElementTypes[] = {{"f32_r", kF32}, {"s", kF32}, {"f64_r", kF64}, {"d", kF64},   {"f16_r", kF16}, {"h", kF16},  {"bf16_r", kBf16},
                                        {"i8_r", kS8},   {"u8_r", kU8}, {"i32_r", kS32}, {"f8_r", kE4m3}, {"bf8_r", kE5m2}};
constexpr NamedValue kComputes[] = {{"f32_r", kCompute32F},      {"f32", kCompute32F},    {"s", kCompute32F},   {"c_f32_r", kCompute32F},
                                    {"xf32_r", kCompute32FFastTf32}, {"f32_f16_r", kCompute32FFast16F}, {"f32_bf16_r", kCompute32FFast16BF},
                                    {"f64_r", kCompute64F},      {"d", kCompute64F},      {"f16_r", kCompute16F}, {"h", kCompute16F},
                                    {"i32_r", kCompute32I}};
constexpr NamedValue kActivations[] = {{"none", 0}, {"relu", kEpilogueRelu}, {"gelu", kEpilogueGelu}};

/// Options by name, without dashes; a flag has an empty value.
class Options {
 public:
  explicit Options(const std::vector<std::string_view>& words, std::size_t first) {
    for (std::size_t i = first; i < words.size(); ++i) {
      if (!is_option(words[i])) throw fmt::format("'{}', expected an option such as -m or --transA", shown_word(words[i]));
      const std::string_view name = words[i].substr(words[i].find_first_not_of('-'));
      const bool has_value = i + 1 < words.size() && !is_option(words[i + 1]);
      values_[name] = has_value ? words[++i] : std::string_view{};
    }
  }
  bool has(std::string_view name) const { return values_.count(name) != 0; }
  bool is_on(std::string_view name) const { return has(name) && values_.at(name) != "0" && values_.at(name) != "none"; }
  std::string_view get(std::string_view name, std::string_view otherwise) const { return has(name) ? values_.at(name) : otherwise; }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const { return has(name) ? integer_of(values_.at(name), name) : otherwise; }
  std::int64_t size(std::string_view name) const {
    if (!has(name)) throw fmt::format("no -{} in the line, expected -m, -n and -k", name);
    return integer_of(values_.at(name), name);
  }

 private:
  static bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9') && word[1] != '.'; }
  std::map<std::string_view, std::string_view> values_;
};

int transpose_of(std::string_view letter) {
  if (letter == "N" || letter == "n") return kOpN;
  if (letter == "T" || letter == "t") return kOpT;
  if (letter == "C" || letter == "c") return kOpC;
  throw fmt::format("transpose is '{}', expected N, T or C", shown_word(letter));
}

void take_problem(const Options& options, BatchKind batches, GemmCall& call) {
  call.m = options.size("m");
  call.n = options.size("n");
  call.k = options.size("k");
  call.op_a = transpose_of(options.get("transA", options.get("transposeA", "N")));
  call.op_b = transpose_of(options.get("transB", options.get("transposeB", "N")));
  const bool ta = call.op_a != kOpN, tb = call.op_b != kOpN;
  call.lda = options.integer("lda", ta ? call.k : call.m);
  call.ldb = options.integer("ldb", tb ? call.n : call.k);
  const std::int64_t ldc = options.integer("ldc", call.m);
  call.ldd = options.integer("ldd", ldc);
  call.batch = options.integer("batch_count", 1);
  call.batch_kind = batches;
  call.stride_a = options.integer("stride_a", call.lda * (ta ? call.m : call.k));
  call.stride_b = options.integer("stride_b", call.ldb * (tb ? call.k : call.n));
  call.stride_d = options.integer("stride_d", options.integer("stride_c", call.ldd * call.n));
}

void take_element_types(const Options& options, GemmCall& call) {
  const std::string_view all = options.get("r", options.get("precision", "f32_r"));
  call.type_a = value_named(kElementTypes, options.get("a_type", all), kUnserved);
  call.type_b = value_named(kElementTypes, options.get("b_type", all), kUnserved);
  call.type_d = value_named(kElementTypes, options.get("d_type", options.get("c_type", all)), kUnserved);
  call.compute = value_named(kComputes, options.get("compute_type", options.has("a_type") ? "f32_r" : all), kUnserved);
  call.scale_type = options.has("scale_type") ? value_named(kElementTypes, options.get("scale_type", ""), kUnserved) : scale_type_of(call.compute);
  call.fast_accum = true;  // they have no other
}

/// Epilogue and scales; Reason::none, or why there is no kernel.
Reason take_terms(const Options& options, GemmCall& call) {
  if (options.is_on("use_e") || options.is_on("gradient") || options.get("use_e", "0").empty() || options.get("gradient", "0").empty())
    return Reason::epilogue;
  const int activation = value_named(kActivations, options.get("activation_type", "none"), -1);
  if (activation < 0) return Reason::epilogue;
  const bool is_biased = options.has("bias_vector") && options.get("bias_vector", "") != "0";
  call.epilogue = is_biased ? kEpilogueBias | activation : activation != 0 ? activation : kEpilogueNone;
  if (is_biased) {
    call.bias = call.a;
    call.bias_type = options.has("bias_type") ? value_named(kElementTypes, options.get("bias_type", ""), kUnserved) : -1;
  }
  for (const char* other : {"scaleC", "scaleD", "scaleE", "amaxD"}) {
    if (options.is_on(other)) return Reason::scales;
  }
  const std::string_view a = options.get("scaleA", "0"), b = options.get("scaleB", "0");
  if (a != b || (a != "0" && a != "1" && a != "2")) return Reason::scales;
  if (a != "0") call.scale_a = call.scale_b = call.a;
  call.scales_each = a == "2";
  return Reason::none;
}

void read_options(const Options& options, BatchKind batches, std::uint64_t times, Calls& calls) {
  GemmCall call = call_of_a_log();
  take_problem(options, batches, call);
  take_element_types(options, call);
  if (call.type_a == kUnserved || call.type_b == kUnserved || call.type_d == kUnserved) return calls.leave_out(Reason::types, times);
  if (options.has("grouped_gemm") && options.get("grouped_gemm", "") != "0") return calls.leave_out(Reason::layout, times);
  call.beta = scalar_of_a_log(number_of(options.get("beta", "0"), "beta") == 0);
  const bool reads_other_c = call.beta != scalar_of_a_log(true) && options.integer("ldc", call.ldd) != call.ldd;
  const Reason why = reads_other_c ? Reason::layout : take_terms(options, call);
  if (why != Reason::none) return calls.leave_out(why, times);
  calls.add(call, times);
}

}  // namespace

bool read_bench_line(std::string_view line, Calls& calls) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split_at(line, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  std::size_t at = 0;
  while (at < words.size() && !words[at].ends_with("hipblaslt-bench") && !words[at].ends_with("rocblas-bench")) ++at;
  if (at == words.size() || at + 1 == words.size()) return false;
  const bool is_counted = at > 0 && words[at - 1].find_first_not_of("0123456789") == std::string_view::npos;
  const std::uint64_t times = is_counted ? std::uint64_t(integer_of(words[at - 1], "the number of calls", 1)) : 1;
  const Options options(words, at + 1);
  if (words[at].ends_with("hipblaslt-bench")) {
    read_options(options, options.integer("batch_count", 1) == 1 ? BatchKind::single : BatchKind::strided, times, calls);
    return true;
  }
  const std::string_view function = options.get("f", options.get("function", ""));
  if (function == "gemm" || function == "gemm_ex") read_options(options, BatchKind::single, times, calls);
  else if (function == "gemm_strided_batched" || function == "gemm_strided_batched_ex") read_options(options, BatchKind::strided, times, calls);
  else if (function == "gemm_batched" || function == "gemm_batched_ex") read_options(options, BatchKind::pointers, times, calls);
  else calls.leave_out("a function of rocBLAS that is no such product", times);
  return true;
}

}  // namespace tilesmith::tuner
