// Which of our type pairs computes what a call asks for, by its types, its compute type and the math mode.
#pragma once

#include <cstdint>

#include "runtime/cublas/gemm_call.hpp"
#include "runtime/cublas/reason.hpp"

namespace tilesmith::cublas {

const char* pair_name(std::uint8_t pair);

/// Bytes of an element of a cudaDataType_t; 0: not one of ours.
int bytes_of(int type) noexcept;

/// Reason::none and the pair; else why there is none.
Reason pair_of(const GemmCall& call, std::uint8_t& pair) noexcept;

}  // namespace tilesmith::cublas
