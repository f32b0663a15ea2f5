// A line of cuBLASLt's trace as a problem. The descriptors' texts are what cuBLASLt 12.6 and 13.1 print.
#include "tests/tuner/logs/lines.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

struct Line {
  std::string a = "type=R_16BF rows=128 cols=64 ld=128", b = "type=R_16BF rows=128 cols=32 ld=128",
              d = "type=R_16BF rows=64 cols=32 ld=64";
  std::string c;  // "": that of D
  std::string compute = "computeType=COMPUTE_32F scaleType=R_32F transa=OP_T";
  std::string beta = "0", c_at = "0X30000", d_at = "0X30000", function = "cublasLtMatmul";

  std::string text() const {
    return "[2026-11-27 20:19:57][cublasLt][24446][Trace][" + function + "] A=0X10000 Adesc=[" + a +
           "] B=0X20000 Bdesc=[" + b + "] C=" + c_at + " Cdesc=[" + (c.empty() ? d : c) + "] D=" + d_at + " Ddesc=[" +
           d + "] computeDesc=[" + compute +
           "] algo=[algoId=21 tile=MATMUL_TILE_32x32] workSpace=0X0 workSpaceSizeInBytes=0 beta=" + beta +
           " outOfPlace=0 stream=0X0";
  }
};

std::string problem_of(const Line& line) { return problem_of_line(read_cublaslt_line, line.text()); }

Line with_compute(const std::string& more) {
  Line line;
  line.compute += " " + more;
  return line;
}

}  // namespace

TEST_CASE("a matmul of cuBLASLt's trace is the problem that the shim would have seen") {
  CHECK(problem_of(Line{}) == "bf16f32bf16 NT 32 64 128");
  Line both;
  both.a = "type=R_16BF rows=64 cols=128 ld=72";
  both.b = "type=R_16BF rows=32 cols=128 ld=32";
  both.compute = "computeType=COMPUTE_32F scaleType=R_32F transb=OP_C";
  CHECK(problem_of(both) == "bf16f32bf16 TN 32 64 128 ldb=72");
  Line by_rows;  // a row-major matrix is the transposed one
  by_rows.a = "type=R_16BF rows=64 cols=128 ld=128 order=ORDER_ROW";
  by_rows.compute = "computeType=COMPUTE_32F scaleType=R_32F";
  CHECK(problem_of(by_rows) == "bf16f32bf16 NT 32 64 128");
  Line placed;
  placed.d_at = placed.c_at = "0X30008";
  CHECK(problem_of(placed) == "bf16f32bf16 NT 32 64 128 align=8");
}

TEST_CASE("types and compute type of the trace decide the type pair") {
  const auto pair = [](const std::string& operands, const std::string& result, const std::string& compute) {
    Line line;
    line.a = "type=" + operands + " rows=128 cols=64 ld=128";
    line.b = "type=" + operands + " rows=128 cols=32 ld=128";
    line.d = "type=" + result + " rows=64 cols=32 ld=64";
    line.compute = "transa=OP_T " + compute;
    const std::string text = problem_of(line);
    return text.substr(0, text.find(" NT"));
  };
  CHECK(pair("R_16F", "R_16F", "computeType=COMPUTE_32F scaleType=R_32F") == "f16f32f16");
  CHECK(pair("R_16F", "R_16F", "computeType=COMPUTE_16F scaleType=R_16F") == "f16f16");
  CHECK(pair("R_16F", "R_32F", "computeType=COMPUTE_32F scaleType=R_32F") == "f16f32");
  CHECK(pair("R_32F", "R_32F", "computeType=COMPUTE_32F scaleType=R_32F") == "f32f32");
  CHECK(pair("R_32F", "R_32F", "computeType=COMPUTE_32F_FAST_TF32 scaleType=R_32F") == "tf32f32");
  CHECK(pair("R_64F", "R_64F", "computeType=COMPUTE_64F scaleType=R_64F") == "f64f64");
  CHECK(pair("R_8I", "R_32I", "computeType=COMPUTE_32I scaleType=R_32I") == "s8s32");
  CHECK(pair("R_8I", "R_8I", "computeType=COMPUTE_32I scaleType=R_32F") == "s8s32s8");
  CHECK(pair("R_8F_E4M3", "R_16F", "computeType=COMPUTE_32F scaleType=R_32F fastAccumulationFlag=1") == "e4m3f32f16");
  CHECK(pair("R_8F_E4M3", "R_16F", "computeType=COMPUTE_32F scaleType=R_32F") ==
        "left out: 8-bit floats without fast accumulation");
  CHECK(pair("R_32F", "R_32F", "computeType=COMPUTE_32F_PEDANTIC scaleType=R_32F") == "left out: pedantic math");
  CHECK(pair("R_32F", "R_32F", "computeType=COMPUTE_32F_EMULATED_16BFX9 scaleType=R_32F") ==
        "left out: emulated f32 or f64");
  CHECK(pair("C_32F", "C_32F", "computeType=COMPUTE_32F scaleType=C_32F") ==
        "left out: a combination of types that has no kernel here");
  CHECK(pair("R_32F", "R_32F", "computeType=COMPUTE_TYPE_UNKNOWN scaleType=R_32F") ==
        "left out: a combination of types that has no kernel here");
}

TEST_CASE("epilogues, beta and scalars of the trace are the problem's") {
  CHECK(problem_of(with_compute("epilogue=EPILOGUE_BIAS biasPointer=0x7000")) ==
        "bf16f32bf16 NT 32 64 128 epilogue=bias_n");
  CHECK(problem_of(with_compute("epilogue=EPILOGUE_GELU_BIAS biasPointer=0x7000 biasDataType=0")) ==
        "bf16f32bf16 NT 32 64 128 epilogue=bias_n_f32+gelu_tanh");
  CHECK(problem_of(with_compute("epilogue=EPILOGUE_RELU")) == "bf16f32bf16 NT 32 64 128 epilogue=relu");
  CHECK(problem_of(with_compute("epilogue=EPILOGUE_GELU_AUX_BIAS biasPointer=0x7000")) ==
        "left out: an epilogue that has no kernel here");
  CHECK(problem_of(with_compute("epilogue=EPILOGUE_BIAS")) == "left out: an epilogue that has no kernel here");
  Line sum;
  sum.beta = "0.5";
  CHECK(problem_of(sum) == "bf16f32bf16 NT 32 64 128 beta=any");
  sum.beta = "?";
  CHECK(problem_of(sum) == "bf16f32bf16 NT 32 64 128 beta=any");
  sum.c_at = "0X40000";
  CHECK(problem_of(sum) == "bf16f32bf16 NT 32 64 128 beta=any epilogue=c_apart");
  sum.c = "type=R_32F rows=64 cols=32 ld=64";
  CHECK(problem_of(sum) == "left out: a layout, order or batch mode that has no kernel here");
  sum.beta = "0";  // C is not read
  CHECK(problem_of(sum) == "bf16f32bf16 NT 32 64 128");
  CHECK(problem_of(with_compute("pointerMode=MODE_DEVICE")) == "bf16f32bf16 NT 32 64 128 beta=any scalars=device");
  CHECK(problem_of(with_compute("pointerMode=ALPHA_DEVICE_VECTOR_BETA_ZERO")) ==
        "left out: scales of a kind, or of a matrix, that has no kernel here");
}

TEST_CASE("batches and scales of the trace are the problem's") {
  Line batch;
  batch.a += " batchCount=4 stridedBatchOffset=8192";
  batch.b += " batchCount=4 stridedBatchOffset=0";
  batch.d += " batchCount=4 stridedBatchOffset=4096";
  CHECK(problem_of(batch) == "bf16f32bf16 NT 32 64 128 batch=4 stride_a=0 stride_c=4096 batch_mode=strided");
  batch.compute += " epilogue=EPILOGUE_BIAS biasPointer=0x7000 biasBatchStride=64";
  CHECK(problem_of(batch) == "left out: an epilogue that has no kernel here");
  Line pointers;
  pointers.a += " batchCount=2 batchMode=POINTER_ARRAY";
  CHECK(problem_of(pointers) == "left out: a layout, order or batch mode that has no kernel here");
  Line bytes;
  bytes.a = "type=R_8F_E4M3 rows=128 cols=64 ld=128";
  bytes.b = "type=R_8F_E4M3 rows=128 cols=32 ld=128";
  bytes.compute += " aScalePointer=0x500 bScalePointer=0x400 fastAccumulationFlag=1";
  CHECK(problem_of(bytes) == "e4m3f32bf16 NT 32 64 128 epilogue=scale_m1+scale_n1");
  bytes.compute += " aScaleMode=OUTER_VEC_32F bScaleMode=OUTER_VEC_32F";
  CHECK(problem_of(bytes) == "e4m3f32bf16 NT 32 64 128 epilogue=scale_m+scale_n");
  Line blocks = bytes;
  blocks.compute = with_compute("aScalePointer=0x500 bScalePointer=0x400 aScaleMode=VEC128_32F bScaleMode=").compute;
  Line padded = blocks;
  blocks.compute += "VEC128_32F";
  CHECK(problem_of(blocks) == "e4m3f32bf16 NT 32 64 128 epilogue=scale_m_1x128+scale_n_1x128");
  padded.compute += "BLK128x128_32F";
  CHECK(problem_of(padded) == "left out: scales of 128x128 padded along K: K/128 is not a multiple of 4");
  bytes.compute += " dScalePointer=0x600";
  CHECK(problem_of(bytes) == "left out: scales of a kind, or of a matrix, that has no kernel here");
}

TEST_CASE("a limit of SMs counts where the program set it, not where cuBLAS did") {
  Line line = with_compute("smCountTarget=48");
  CHECK(problem_of(line) == "left out: a limit on the number of SMs");
  line.function = "cublasLtTSTMatmul";
  CHECK(problem_of(line) == "bf16f32bf16 NT 32 64 128");
}

TEST_CASE("other lines of the log are passed over, and a matmul that is not whole is refused with what was expected") {
  CHECK_FALSE(is_one(read_cublaslt_line, "step 1: loss 3.2"));
  CHECK_FALSE(is_one(read_cublaslt_line,
      "[2026-11-27 20:19:57][cublasLt][24446][Api][cublasLtMatmul] A=0X10000 Adesc=0X55D4FFB152C0"));
  CHECK_FALSE(is_one(
      read_cublaslt_line, "[2026-11-27 20:19:57][cublasLt][24446][Error][cublasLtMatmul] Fast accumulator mode"));
  CHECK_FALSE(
      is_one(read_cublaslt_line, "[2026-11-27 20:19:57][cublasLt][24446][Trace][cublasLtMatrixTransform] A=0X1"));
  const auto wrong = [](const Line& line) { return wrong_with(read_cublaslt_line, line.text()); };
  Line line;
  line.a = "type=R_16BF rows=x cols=64 ld=128";
  CHECK(wrong(line) == "rows is 'x', expected an integer of at least 0");
  line.a = "type=R_16BF rows=128 ld=128";
  CHECK(wrong(line) == "no cols= in the line, expected one");
  line = Line{};
  line.beta = "zero";
  CHECK(wrong(line) == "beta is 'zero', expected a number");
  line = Line{};
  line.d_at = "nowhere";
  CHECK(wrong(line) == "D is 'nowhere', expected an address such as 0X7F45F3FC58D0");
  CHECK(wrong_with(read_cublaslt_line, Line{}.text().substr(0, 200)) == "Cdesc=[ has no end, expected ]");
}

TEST_CASE("numbers of the trace are those it has, or are refused") {
  const auto wrong = [](const Line& line) { return wrong_with(read_cublaslt_line, line.text()); };
  Line line;
  line.a += " batchCount=4294967297 stridedBatchOffset=8192";
  CHECK(wrong(line) == "batchCount is '4294967297', expected an integer of 0 to 2147483647");
  CHECK(wrong(with_compute("smCountTarget=4294967296")) ==
        "smCountTarget is '4294967296', expected an integer of 0 to 2147483647");
  CHECK(wrong(with_compute("epilogue=EPILOGUE_BIAS biasPointer=0x7000 biasDataType=4294967296")) ==
        "biasDataType is '4294967296', expected an integer of 0 to 2147483647");
  line = Line{};
  line.a = "type=R_16BF rows=128 cols=64 ld=18446744073709551616";
  CHECK(wrong(line) == "ld is '18446744073709551616', expected an integer of 0 to 9223372036854775807");
  line = Line{};
  line.a += " batchCount=2 stridedBatchOffset=-8192";
  line.b += " batchCount=2 stridedBatchOffset=8192";
  line.d += " batchCount=2 stridedBatchOffset=8192";
  CHECK(problem_of(line) == "left out: a layout, order or batch mode that has no kernel here");
}

TEST_CASE("a field of the trace that is not known, stands twice or is cut is no other call") {
  CHECK(problem_of(with_compute("atomicSync=0x7000")) == "left out: a descriptor with a field that is not known here");
  CHECK(problem_of(
            with_compute("emulationDesc=[strategy=STRATEGY_EAGER specialValuesSupport=SPECIAL_VALUES_SUPPORT_NAN]")) ==
        "left out: a descriptor with a field that is not known here");
  Line line;
  line.a += " batchCunt=4";
  CHECK(problem_of(line) == "left out: a descriptor with a field that is not known here");
  line = Line{};
  line.a += " ld=256";
  CHECK(wrong_with(read_cublaslt_line, line.text()) == "ld= twice, expected one");
  const std::string text = Line{}.text();
  CHECK(wrong_with(read_cublaslt_line, text.substr(0, text.find(" outOfPlace"))) ==
        "the line ends at beta, expected outOfPlace= and stream= behind it");
}
