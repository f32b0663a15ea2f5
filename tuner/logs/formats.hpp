// The logs that are read. Each function takes a line, without its end: false if it is none of this format's, and so
// nothing was added. What is wrong with a line that is one is thrown as std::string, and nothing was added: "what it
// is, expected what".
//
// A line that was cut may look like a whole line of an older version, which prints less. form_of_.. is larger for a
// line that has more in it, and -1 where this cannot be said. Most lines of a log have the same form.
#pragma once

#include <string_view>

#include "tuner/logs/calls.hpp"
#include "tuner/logs/words.hpp"

namespace tilesmith::tuner {

/// cuBLASLt 11 to 13, CUBLASLT_LOG_LEVEL=2 or more: a line a matmul, `[time][cublasLt][process][Trace][cublasLtMatmul]
/// A=0X.. Adesc=[..] ..`.
bool read_cublaslt_line(std::string_view line, Calls& calls);

/// PyTorch's tunableop_untuned0.csv and tunableop_results0.csv: `GemmTunableOp_Half_TN,tn_768_1024_768_ld_768_768_768`,
/// behind which a solution, its time and BLAS_PARAMS may follow.
bool read_tunableop_line(std::string_view line, Calls& calls);
int form_of_tunableop_line(std::string_view line);

/// `hipblaslt-bench -m 64 ..` (HIPBLASLT_LOG_MASK=32) and `./rocblas-bench -f gemm_ex ..` (ROCBLAS_LAYER=2). A number
/// before it, as `uniq -c` puts there, counts its calls.
bool read_bench_line(std::string_view line, Calls& calls);
int form_of_bench_line(std::string_view line);
inline constexpr int kForms = 4;

inline constexpr int kUnserved = 1 << 20;  // a type that has no kernel here
/// Names in logs of hipBLASLt and rocBLAS (which prints i_r32), and in TunableOp's BLAS_PARAMS.
inline constexpr NamedValue kElementTypes[] = {{"f32_r", cublas::kF32}, {"s", cublas::kF32}, {"f64_r", cublas::kF64},
    {"d", cublas::kF64}, {"f16_r", cublas::kF16}, {"h", cublas::kF16}, {"bf16_r", cublas::kBf16}, {"i8_r", cublas::kS8},
    {"i8", cublas::kS8}, {"u8_r", cublas::kU8}, {"i32_r", cublas::kS32}, {"i", cublas::kS32}, {"i_r32", cublas::kS32},
    {"f8_r", cublas::kE4m3}, {"bf8_r", cublas::kE5m2}};

}  // namespace tilesmith::tuner
