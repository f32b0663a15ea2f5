// A call as a problem of ours: what has to agree for one plan to serve two calls.
//
// cuBLAS's column-major C = op(A)*op(B) is our row-major C^T = op(B)^T*op(A)^T. So M is its n and N its m, A and B
// change places, and the transposes are (op B, op A): a matrix that it stores column-major is, row-major, the
// transposed one.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "runtime/cublas/calls/gemm_call.hpp"
#include "runtime/cublas/calls/reason.hpp"
#include "runtime/interface/tilesmith.h"

namespace tilesmith::cublas {

/// Hashed and compared as bytes. What is packed is written as packed, so that problems that differ in M alone differ
/// here in M alone.
struct ProblemKey {
  tilesmith_problem problem = TILESMITH_PROBLEM;
  std::uint8_t device = 0;
  std::uint8_t unused[7] = {};

  bool operator==(const ProblemKey& other) const { return std::memcmp(this, &other, sizeof *this) == 0; }
};
static_assert(std::has_unique_object_representations_v<ProblemKey>, "its bytes are hashed");

std::uint64_t hash_of(const ProblemKey& key) noexcept;
struct HashOfKey {
  std::size_t operator()(const ProblemKey& key) const noexcept { return std::size_t(hash_of(key)); }
};

/// Reason::none, and the key but for its device; else why there is none.
Reason key_of(const GemmCall& call, ProblemKey& key) noexcept;

/// alpha and beta, which are narrower than ours where cuBLAS takes f16.
struct Scalars {
  float alpha = 0, beta = 0;
};

/// What a run is given. `scalars` has to live until it was launched.
tilesmith_run run_of(const GemmCall& call, Scalars& scalars) noexcept;

/// The library's functions that judge a problem and write its text. A shim opens them; the tuner is linked with them.
struct Judge {
  decltype(&tilesmith_problem_text) text;
  decltype(&tilesmith_last_error) last_error;
};

/// True, and a line of a workload file (docs/tuning.md) without a weight; false, and why the library refuses the
/// problem.
bool workload_line(const tilesmith_problem& problem, const Judge& judge, std::string& line);

}  // namespace tilesmith::cublas
