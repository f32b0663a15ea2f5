// cuBLASLt's trace. Formats of descriptors are those that 12.6 and 13.1 print: fields with their default value are left
// out, names of values have no CUBLAS_ or CUBLASLT_ before them, and a bias's type is a number of cudaDataType_t.

#include <limits>

#include "runtime/cublas/calls/matmul_call.hpp"
#include "tuner/logs/formats.hpp"
#include "tuner/logs/words.hpp"

namespace tilesmith::tuner {
namespace {

using namespace cublas;

constexpr int kOther = 1 << 20;  // a value that is known to cuBLASLt and not to us
constexpr std::int64_t kMostInt = std::numeric_limits<int>::max();

// What 12 and 13 print. Another field may change what the call means.
constexpr std::string_view kLayoutFields =
    " type rows cols ld order batchCount stridedBatchOffset planeOffset planeOffsetBytes batchMode ";
constexpr std::string_view kDescriptionFields =
    " computeType scaleType pointerMode transa transb transc fillMode epilogue biasPointer biasDataType biasBatchStride epilogueAuxPointer epilogueAuxLd "
    "epilogueAuxBatchStride epilogueAuxDataType epilogueAuxScalePointer epilogueAuxAmaxPointer epilogueAuxScaleMode smCountTarget fastAccumulationFlag "
    "amaxDPointer aScalePointer bScalePointer cScalePointer dScalePointer dOutScalePointer aScaleMode bScaleMode cScaleMode dScaleMode dOutScaleMode "
    "alphaVectorBatchStride ";

constexpr NamedValue kTypes[] = {{"R_32F", kF32}, {"R_64F", kF64}, {"R_16F", kF16}, {"R_8I", kS8}, {"R_8U", kU8},
    {"R_32I", kS32}, {"R_16BF", kBf16}, {"R_8F_E4M3", kE4m3}, {"R_8F_E5M2", kE5m2}};
constexpr NamedValue kComputeTypes[] = {{"COMPUTE_16F", kCompute16F}, {"COMPUTE_16F_PEDANTIC", kCompute16F + 1},
    {"COMPUTE_32F", kCompute32F}, {"COMPUTE_32F_PEDANTIC", kCompute32F + 1},
    {"COMPUTE_32F_FAST_16F", kCompute32FFast16F}, {"COMPUTE_32F_FAST_16BF", kCompute32FFast16BF},
    {"COMPUTE_32F_FAST_TF32", kCompute32FFastTf32}, {"COMPUTE_64F", kCompute64F},
    {"COMPUTE_64F_PEDANTIC", kCompute64F + 1}, {"COMPUTE_32I", kCompute32I}, {"COMPUTE_32I_PEDANTIC", kCompute32I + 1},
    {"COMPUTE_32F_EMULATED_16BFX9", 78}, {"COMPUTE_64F_EMULATED_FIXEDPOINT", 79}};
constexpr NamedValue kEpilogues[] = {{"EPILOGUE_DEFAULT", kEpilogueNone}, {"EPILOGUE_RELU", kEpilogueRelu},
    {"EPILOGUE_BIAS", kEpilogueBias}, {"EPILOGUE_RELU_BIAS", kEpilogueRelu | kEpilogueBias},
    {"EPILOGUE_GELU", kEpilogueGelu}, {"EPILOGUE_GELU_BIAS", kEpilogueGelu | kEpilogueBias}};
constexpr NamedValue kOrders[] = {{"ORDER_COL", kOrderCol}, {"ORDER_ROW", kOrderRow}};
constexpr NamedValue kOperations[] = {{"OP_N", kOpN}, {"OP_T", kOpT}, {"OP_C", kOpC}};
constexpr NamedValue kPointerModes[] = {{"MODE_HOST", kPointersToHost}, {"MODE_DEVICE", kPointersToDevice}};
constexpr NamedValue kScaleModes[] = {{"SCALAR_32F", kScaleOne}, {"OUTER_VEC_32F", kScaleEach},
    {"VEC128_32F", kScale1x128}, {"BLK128x128_32F", kScale128x128}};
constexpr NamedValue kBatchModes[] = {{"STRIDED", 0}, {"POINTER_ARRAY", 1}, {"GROUPED", 2}};

MatrixLayout layout_of(const Fields& fields) {
  MatrixLayout layout;
  layout.type = value_named(kTypes, fields.get("type"), kOther);
  layout.order = value_named(kOrders, fields.get("order", "ORDER_COL"), kOther);
  layout.batch_mode = value_named(kBatchModes, fields.get("batchMode", "STRIDED"), kOther);
  layout.batch = int(fields.integer("batchCount", 1, 0, kMostInt));
  if (layout.batch_mode != 0) return layout;  // its sizes lie elsewhere
  layout.rows = integer_of(fields.get("rows"), "rows");
  layout.cols = integer_of(fields.get("cols"), "cols");
  layout.ld = integer_of(fields.get("ld"), "ld");
  layout.stride = layout.batch == 1 ? 0 : fields.integer("stridedBatchOffset", 0, kLeastInteger);
  return layout;
}

const void* address(const Fields& fields, std::string_view key) {
  const auto value = fields.find(key);
  return value ? pointer_of(*value, key) : nullptr;
}

MatmulDescription description_of(const Fields& fields) {
  MatmulDescription said;
  said.compute = value_named(kComputeTypes, fields.get("computeType"), kOther);
  said.scale_type = value_named(kTypes, fields.get("scaleType"), kOther);
  said.pointer_mode = value_named(kPointerModes, fields.get("pointerMode", "MODE_HOST"), kOther);
  said.op_a = value_named(kOperations, fields.get("transa", "OP_N"), kOther);
  said.op_b = value_named(kOperations, fields.get("transb", "OP_N"), kOther);
  said.epilogue = value_named(kEpilogues, fields.get("epilogue", "EPILOGUE_DEFAULT"), kOther);
  said.sm_count_target = int(fields.integer("smCountTarget", 0, 0, kMostInt));
  said.bias = address(fields, "biasPointer");
  said.bias_type = int(fields.integer("biasDataType", -1, 0, kMostInt));
  said.bias_batch_stride = fields.integer("biasBatchStride", 0, kLeastInteger);
  said.scale_a = address(fields, "aScalePointer");
  said.scale_b = address(fields, "bScalePointer");
  said.scale_c = address(fields, "cScalePointer");
  said.scale_d = address(fields, "dScalePointer");
  said.amax_d = address(fields, "amaxDPointer");
  said.scale_mode_a = value_named(kScaleModes, fields.get("aScaleMode", "SCALAR_32F"), kOther);
  said.scale_mode_b = value_named(kScaleModes, fields.get("bScaleMode", "SCALAR_32F"), kOther);
  said.fast_accum = fields.integer("fastAccumulationFlag", 0) != 0 ? 1 : 0;
  return said;
}

/// `[Trace][cublasLtMatmul] ` in the line: what stands behind it, and whether the program called cuBLASLt itself.
/// cuBLAS calls functions such as cublasLtTSTMatmul for its own products.
std::optional<std::string_view> behind_head(std::string_view line, bool& by_program) {
  constexpr std::string_view kLibrary = "[cublasLt]", kTrace = "[Trace][cublasLt", kEnd = "Matmul] ";
  if (line.find(kLibrary) == std::string_view::npos) return std::nullopt;
  const std::size_t trace = line.find(kTrace);
  if (trace == std::string_view::npos) return std::nullopt;
  const std::size_t name = trace + kTrace.size(), end = line.find(']', name);
  if (end == std::string_view::npos || end + 2 < name + kEnd.size()) return std::nullopt;
  const std::size_t start = end + 2 - kEnd.size();
  if (line.substr(start, kEnd.size()) != kEnd) return std::nullopt;
  by_program = start == name;
  return line.substr(end + 2);
}

}  // namespace

bool read_cublaslt_line(std::string_view line, Calls& calls) {
  bool by_program = false;
  const auto said = behind_head(line, by_program);
  if (!said) return false;
  const Fields fields(*said);
  const Fields description(fields.get("computeDesc"));
  MatmulDescription of = description_of(description);
  if (!by_program) of.sm_count_target = 0;  // cuBLAS sets it to all there are
  const Fields a(fields.get("Adesc")), b(fields.get("Bdesc")), c(fields.get("Cdesc")), d(fields.get("Ddesc"));
  bool is_known = description.has_only(kDescriptionFields);
  for (const Fields* layout : {&a, &b, &c, &d}) is_known = is_known && layout->has_only(kLayoutFields);
  GemmCall call = call_of_a_log();
  call.a = pointer_of(fields.get("A"), "A");
  call.b = pointer_of(fields.get("B"), "B");
  call.c = pointer_of(fields.get("C"), "C");
  call.d = const_cast<void*>(pointer_of(fields.get("D"), "D"));
  const std::string_view beta = fields.get("beta");
  call.beta = scalar_of_a_log(beta != "?" && number_of(beta, "beta") == 0);  // "?": it does not tell
  if (!fields.find("outOfPlace") && !fields.find("stream"))
    throw std::string("the line ends at beta, expected outOfPlace= and stream= behind it");
  const bool is_plain =
      description.get("transc", "OP_N") == "OP_N" && description.get("fillMode", "MODE_FULL") == "MODE_FULL";
  const Reason why =
      is_plain ? take_matmul(of, layout_of(a), layout_of(b), layout_of(c), layout_of(d), call) : Reason::layout;
  if (!is_known) calls.leave_out("a descriptor with a field that is not known here");
  else if (why == Reason::none) calls.add(call);
  else calls.leave_out(why);
  return true;
}

}  // namespace tilesmith::tuner
