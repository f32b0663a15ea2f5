// A call as a problem of ours: what has to agree for one plan to serve two calls.
//
// cuBLAS's column-major C = op(A)*op(B) is our row-major C^T = op(B)^T*op(A)^T. So M is its n and N its m, A and B change places, and the
// transposes are (op B, op A): a matrix that it stores column-major is, row-major, the transposed one.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "runtime/cublas/gemm_call.hpp"
#include "runtime/cublas/reason.hpp"
#include "runtime/interface/tilesmith.h"

namespace tilesmith::cublas {

/// Hashed and compared as bytes.
struct ProblemKey {
  std::int64_t m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0;  // ours
  std::int64_t batch = 1, stride_a = 0, stride_b = 0, stride_c = 0;
  std::uint8_t pair = 0;  // of type_pair_name()
  std::uint8_t trans_a = 0, trans_b = 0;
  std::uint8_t align_bytes = 16;
  std::uint8_t beta_is_zero = 1, scalars_on_device = 0, c_is_apart = 0;
  std::uint8_t bias = 0, activation = 0, scale = 0;  // tilesmith_bias, tilesmith_activation, tilesmith_scaling
  std::uint8_t batch_kind = 0;
  std::uint8_t device = 0;
  std::uint8_t unused[4] = {};

  bool operator==(const ProblemKey&) const = default;
};
static_assert(std::has_unique_object_representations_v<ProblemKey>, "its bytes are hashed");

std::uint64_t hash_of(const ProblemKey& key) noexcept;

const char* type_pair_name(const ProblemKey& key);

/// Reason::none, and the key but for its device; else why there is none.
Reason key_of(const GemmCall& call, ProblemKey& key) noexcept;

/// As tilesmith.h has it. Its problem's batch_size is 0 where the batch is one.
tilesmith_strided_batch problem_of(const ProblemKey& key);

/// alpha and beta, which are narrower than ours where cuBLAS takes f16.
struct Scalars {
  float alpha = 0, beta = 0;
};

/// What a run is given. `scalars` has to live until it was launched.
tilesmith_run_args run_args_of(const GemmCall& call, Scalars& scalars) noexcept;

/// The library's functions that judge a problem and write its text. A shim opens them; the tuner is linked with them.
struct Judge {
  decltype(&tilesmith_problem_text) text;
  decltype(&tilesmith_last_error) last_error;
};

/// True, and a line of a workload file (docs/tuning.md) without a weight; false, and why the library refuses the problem.
bool workload_line(const ProblemKey& key, const Judge& judge, std::string& line);

}  // namespace tilesmith::cublas
