// PyTorch's TunableOp, 2.2 and newer: aten/src/ATen/cuda/tunable/GemmCommon.h has the signatures. They are in cuBLAS's
// terms: column-major.
#include <fmt/format.h>

#include <map>

#include "tuner/logs/formats.hpp"

namespace tilesmith::tuner {
namespace {

using namespace cublas;

constexpr int kNoType = kUnserved;
constexpr int kTf32 = kNoType + 1, kEmulated = kNoType + 2;
constexpr std::int64_t kNotGiven = kLeastInteger;  // of a stride

// A name that another begins with stands behind it.
constexpr NamedValue kScalarTypes[] = {{"float", kF32}, {"Float8_e4m3fnuz", kNoType}, {"Float8_e5m2fnuz", kNoType},
    {"Float8_e8m0fnu", kNoType}, {"Float8_e4m3fn", kE4m3}, {"Float8_e5m2", kE5m2}, {"Float4_e2m1fn_x2", kNoType},
    {"Float", kF32}, {"tf32", kTf32}, {"bfx9", kEmulated}, {"double", kF64}, {"BFloat16", kBf16}, {"Half", kF16},
    {"c10::complex<float>", kNoType}, {"c10::complex<double>", kNoType}, {"unknown", kNoType}};

/// "Float8_e4m3fn_Float8_e4m3fn_BFloat16": three.
std::vector<int> types_of(std::string_view names) {
  std::vector<int> types;
  while (!names.empty()) {
    const NamedValue* found = nullptr;
    for (const NamedValue& one : kScalarTypes) {
      if (names.substr(0, one.name.size()) == one.name && (found == nullptr || one.name.size() > found->name.size()))
        found = &one;
    }
    if (found == nullptr)
      throw fmt::format("unknown type '{}', expected one of PyTorch's such as BFloat16", shown_word(names));
    types.push_back(found->value);
    names.remove_prefix(found->name.size());
    if (!names.empty() && names[0] == '_') names.remove_prefix(1);
  }
  return types;
}

int type_named(std::string_view name) {
  const std::vector<int> types = types_of(name);
  return types.size() == 1 ? types[0] : kNoType;
}

/// "tn_768_1024_768_ld_768_768_768_rw_1_bias_None": the transposes, three sizes, and values behind labels.
struct Parameters {
  std::string_view transposes;
  std::vector<std::int64_t> sizes;
  std::map<std::string_view, std::string> labelled;  // values joined by _
  bool is_wildcard = false;                          // of no one problem
};

Parameters parameters_of(std::string_view text) {
  constexpr std::string_view kLabels = " B ld rw bias swz compute a b c as bs ast bst dscale fast ";
  const std::vector<std::string_view> words = split_at(text, '_');
  Parameters result;
  result.transposes = words[0];
  if (words.size() < 4 || words[0].size() != 2)
    throw fmt::format("'{}', expected parameters such as tn_768_1024_768_ld_768_768_768", shown_word(text));
  if (text.find('*') != std::string_view::npos) {
    result.is_wildcard = true;
    return result;
  }
  for (std::size_t i = 1; i < 4; ++i) result.sizes.push_back(integer_of(words[i], std::string_view(&"mnk"[i - 1], 1)));
  std::string* value = nullptr;
  for (std::size_t i = 4; i < words.size(); ++i) {
    if (is_in(kLabels, words[i])) value = &result.labelled[words[i]];
    else if (value == nullptr)
      throw fmt::format("'{}' in '{}', expected ld and leading dimensions", shown_word(words[i]), shown_word(text));
    else value->append(value->empty() ? "" : "_").append(words[i]);
  }
  return result;
}

/// "BLAS_PARAMS: - { function: matmul, M: 768, .., beta: 0.0000, .. }", which PYTORCH_TUNABLEOP_BLAS_LOG=1 adds.
std::map<std::string_view, std::string_view> blas_parameters(std::string_view line) {
  constexpr std::string_view kNames =
      " function M N K lda ldb ldc ldd stride_a stride_b stride_c stride_d alpha beta transA transB batch_count scaleA scaleB a_type b_type c_type d_type "
      "activation bias_type scale_type compute_type ";
  std::map<std::string_view, std::string_view> result;
  const std::size_t start = line.find("BLAS_PARAMS");
  if (start == std::string_view::npos) return result;
  const std::size_t open = line.find('{', start), close = line.find('}', start);
  if (open == std::string_view::npos || close == std::string_view::npos)
    throw std::string("BLAS_PARAMS has no end, expected { and }");
  for (std::string_view part : split_at(line.substr(open + 1, close - open - 1), ',')) {
    part.remove_prefix(part.starts_with(' '));
    part.remove_suffix(part.ends_with(' '));
    const std::vector<std::string_view> words = split_at(part, ' ');
    if (words.size() != 2 || !words[0].ends_with(':') || !is_in(kNames, words[0].substr(0, words[0].size() - 1)))
      throw fmt::format("'{}' in BLAS_PARAMS, expected a parameter and its value", shown_word(part));
    result[words[0].substr(0, words[0].size() - 1)] = words[1];
  }
  return result;
}

void take_sizes(const Parameters& of, GemmCall& call) {
  call.op_a = transpose_of(of.transposes.substr(0, 1), "n, t or c");
  call.op_b = transpose_of(of.transposes.substr(1), "n, t or c");
  call.m = of.sizes[0];
  call.n = of.sizes[1];
  call.k = of.sizes[2];
  const bool ta = call.op_a != kOpN, tb = call.op_b != kOpN;
  call.lda = ta ? call.k : call.m;
  call.ldb = tb ? call.n : call.k;
  call.ldd = call.m;
  if (const auto ld = of.labelled.find("ld"); ld != of.labelled.end()) {
    const std::vector<std::string_view> given = split_at(ld->second, '_');
    if (given.size() != 3) throw fmt::format("ld has '{}', expected three leading dimensions", shown_word(ld->second));
    call.lda = integer_of(given[0], "lda");
    call.ldb = integer_of(given[1], "ldb");
    call.ldd = integer_of(given[2], "ldc");
  }
  const auto batch = of.labelled.find("B");
  if (batch == of.labelled.end()) return;
  call.batch_kind = BatchKind::strided;
  call.batch = integer_of(batch->second, "B");
  call.stride_a = call.stride_b = call.stride_d = kNotGiven;
}

void take_types(int type, GemmCall& call) {
  call.compute = type == kF64        ? kCompute64F
                 : type == kTf32     ? kCompute32FFastTf32
                 : type == kEmulated ? 78
                                     : kCompute32F;
  call.scale_type = type == kF64 ? kF64 : kF32;
  call.type_a = call.type_b = call.type_d = type == kTf32 || type == kEmulated ? kF32 : type;
}

/// Of a product of 8-bit floats. False: it has a kind of scale that has no kernel here.
bool take_scaled(const Parameters& of, const std::vector<int>& types, GemmCall& call) {
  const auto said = [&](std::string_view label, std::string_view otherwise) {
    const auto found = of.labelled.find(label);
    return found == of.labelled.end() ? std::string(otherwise) : found->second;
  };
  const bool by_label = of.labelled.count("a") != 0 && of.labelled.count("b") != 0 && of.labelled.count("c") != 0;
  call.type_a = by_label ? type_named(said("a", "")) : types[0];
  call.type_b = by_label ? type_named(said("b", "")) : types[1];
  call.type_d = by_label ? type_named(said("c", "")) : types.back();
  call.scale_a = call.scale_b = call.a;
  const std::string kind = said("ast", said("rw", "0"));  // 0: one for a matrix, 1: one a row
  call.scale_mode_a = call.scale_mode_b = kind == "1" ? kScaleEach : kScaleOne;
  call.fast_accum = said("fast", "1") == "1";
  if (const std::string bias = said("bias", "None"); bias != "None") {
    call.epilogue = kEpilogueBias;
    call.bias = call.a;
    call.bias_type = type_named(bias);
  }
  return (kind == "0" || kind == "1") && said("bst", kind) == kind && said("as", "Float") == "Float" &&
         said("bs", "Float") == "Float" && said("dscale", "0") == "0" && of.labelled.count("swz") == 0;
}

/// What the line does not say.
void fill_in(GemmCall& call) {
  const bool ta = call.op_a != kOpN, tb = call.op_b != kOpN;
  const auto fill = [&](std::int64_t rows, std::int64_t columns, std::int64_t& ld, std::int64_t& stride) {
    if (columns == 1)
      ld = rows;  // so PyTorch sets one that is not used, after it has written the line (_cublasAdjustLdLevel3)
    if (stride != kNotGiven) return;
    const bool is_beside = call.batch > 1 && ld == packed_stride(rows, call.batch);  // rows hold a row of each matrix
    stride = is_beside ? rows : packed_stride(ld, columns);
  };
  fill(ta ? call.k : call.m, ta ? call.m : call.k, call.lda, call.stride_a);
  fill(tb ? call.n : call.k, tb ? call.k : call.n, call.ldb, call.stride_b);
  fill(call.m, call.n, call.ldd, call.stride_d);
}

/// What BLAS_PARAMS adds to a call of types that have kernels. Reason::none, or why there is none.
Reason take_blas_parameters(const std::map<std::string_view, std::string_view>& given, GemmCall& call) {
  const auto word = [&](const char* name, std::string_view otherwise) {
    return given.count(name) != 0 ? given.at(name) : otherwise;
  };
  const auto type = [&](const char* name, int otherwise) {
    return given.count(name) != 0 ? value_named(kElementTypes, given.at(name), kNoType) : otherwise;
  };
  const std::pair<const char*, std::int64_t*> numbers[] = {{"M", &call.m}, {"N", &call.n}, {"K", &call.k},
      {"stride_a", &call.stride_a}, {"stride_b", &call.stride_b}, {"lda", &call.lda}, {"ldb", &call.ldb},
      {"ldc", &call.ldd}, {"stride_d", &call.stride_d}};
  for (const auto& [name, number] : numbers) {
    if (given.count(name) == 0) continue;
    const std::int64_t other = integer_of(given.at(name), name, kLeastInteger);
    if (*number == kNotGiven) *number = other;
    if (*number != other)
      throw fmt::format("{} is {} in BLAS_PARAMS and {} before it, expected one", name, other, *number);
  }
  call.beta = scalar_of_a_log(number_of(word("beta", "0"), "beta") == 0);
  if (type("a_type", call.type_a) != call.type_a)
    throw fmt::format("a_type is {}, expected the operator's type", shown_word(given.at("a_type")));
  call.type_d = type("c_type", call.type_d);  // C is D; as d_type PyTorch prints A's type (GemmCommon.h)
  if (word("compute_type", "") == "xf32_r") call.compute = kCompute32FFastTf32;
  if (call.epilogue == kEpilogueNone) return Reason::none;
  call.bias_type = type("bias_type", call.bias_type);
  const std::string_view activation = word("activation", "None");
  call.epilogue |= activation == "RELU" ? kEpilogueRelu : activation == "GELU" ? kEpilogueGelu : 0;
  return activation == "None" || call.epilogue != kEpilogueBias ? Reason::none : Reason::epilogue;
}

}  // namespace

bool read_tunableop_line(std::string_view line, Calls& calls) {
  if (line.starts_with("Validator,")) return true;
  constexpr std::string_view kMark = "TunableOp_";
  const std::vector<std::string_view> columns = split_at(line, ',');
  const std::size_t mark = columns[0].find(kMark);
  if (mark == std::string_view::npos || columns[0].find(' ') != std::string_view::npos) return false;
  if (line.find(kMark, mark + 1) != std::string_view::npos) throw std::string("two operators, expected one in a line");
  const std::string_view kind = columns[0].substr(0, mark), rest = columns[0].substr(mark + kMark.size());
  if (kind != "Gemm" && kind != "GemmAndBias" && kind != "GemmStridedBatched" && kind != "ScaledGemm") {
    calls.leave_out("a kind of TunableOp that is no such product");
    return true;
  }
  if (columns.size() < 2 || rest.size() < 4 || rest[rest.size() - 3] != '_')
    throw fmt::format(
        "'{}', expected an operator and its parameters such as GemmTunableOp_Half_TN,tn_768_1024_768_ld_768_768_768",
        shown_word(line));
  const std::vector<int> types = types_of(rest.substr(0, rest.size() - 3));
  const Parameters parameters = parameters_of(columns[1]);
  if (parameters.is_wildcard) {
    calls.leave_out("a size that is a wildcard");
    return true;
  }
  GemmCall call = call_of_a_log();
  take_types(types[0], call);
  take_sizes(parameters, call);
  const int op_a = transpose_of(rest.substr(rest.size() - 2, 1), "N, T or C"),
            op_b = transpose_of(rest.substr(rest.size() - 1), "N, T or C");
  if (op_a != call.op_a || op_b != call.op_b || types.size() != (kind == "ScaledGemm" ? 3 : 1))
    throw fmt::format("'{}' of '{}', expected the same transposes, and a type, or three of a ScaledGemm",
        shown_word(columns[1]), shown_word(columns[0]));
  if (kind == "ScaledGemm" && parameters.labelled.count("ld") != 0 && parameters.labelled.count("bias") == 0)
    throw fmt::format("no bias_ in '{}', expected a type or None", shown_word(columns[1]));
  if (parameters.labelled.count("compute") != 0) call.compute = 78;  // "compute_bf16x9_r"
  if (kind == "GemmStridedBatched" && call.batch_kind != BatchKind::strided)
    throw fmt::format("no B_ in '{}', expected the entries of a batch", shown_word(columns[1]));
  if (kind == "GemmAndBias") {
    call.epilogue = kEpilogueBias;
    call.bias = call.a;
  }
  Reason why = kind == "ScaledGemm" && !take_scaled(parameters, types, call) ? Reason::scales : Reason::none;
  if (why == Reason::none && call.type_a < kNoType) why = take_blas_parameters(blas_parameters(line), call);
  fill_in(call);
  if (why == Reason::none) calls.add(call);
  else calls.leave_out(why);
  return true;
}

int form_of_tunableop_line(std::string_view line) {
  const std::vector<std::string_view> columns = split_at(line, ',');
  if (columns.size() < 2 || columns[0].find("TunableOp_") == std::string_view::npos) return -1;
  if (line.find("BLAS_PARAMS") != std::string_view::npos) return 3;
  if (columns.size() > 2) return 2;                                  // with a solution
  return columns[1].find("_ld_") != std::string_view::npos ? 1 : 0;  // none before PyTorch 2.7
}

}  // namespace tilesmith::tuner
