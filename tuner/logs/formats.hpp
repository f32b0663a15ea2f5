// The logs that are read. Each function takes a line, without its end: false if it is none of this format's, and so nothing was added. What is
// wrong with a line that is one is thrown as std::string: what it is, and what was expected.
#pragma once

#include <string_view>

#include "tuner/logs/calls.hpp"

namespace tilesmith::tuner {

/// cuBLASLt 11 to 13, CUBLASLT_LOG_LEVEL=2 or more: a line a matmul, `[time][cublasLt][process][Trace][cublasLtMatmul] A=0X.. Adesc=[..] ..`.
bool read_cublaslt_line(std::string_view line, Calls& calls);

/// PyTorch's tunableop_untuned0.csv and tunableop_results0.csv: `GemmTunableOp_Half_TN,tn_768_1024_768_ld_768_768_768`, behind which a solution,
/// its time and BLAS_PARAMS may follow.
bool read_tunableop_line(std::string_view line, Calls& calls);

/// `hipblaslt-bench -m 64 ..` (HIPBLASLT_LOG_MASK=32) and `./rocblas-bench -f gemm_ex ..` (ROCBLAS_LAYER=2). A number before it, as `uniq -c` puts
/// there, counts its calls.
bool read_bench_line(std::string_view line, Calls& calls);

}  // namespace tilesmith::tuner
