// Which of our type pairs computes what a call asks for, by its types, its compute type and the math mode.
#pragma once

#include "runtime/cublas/calls/gemm_call.hpp"
#include "runtime/cublas/calls/reason.hpp"

namespace tilesmith::cublas {

/// Bytes of an element of a cudaDataType_t; 0: not one of ours.
int bytes_of(int type) noexcept;

/// Reason::none and the pair's name, padded with 0; else why there is none.
Reason pair_of(const GemmCall& call, char (&name)[16]) noexcept;

}  // namespace tilesmith::cublas
