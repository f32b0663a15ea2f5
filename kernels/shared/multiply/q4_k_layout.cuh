// How kernels read weights of GGUF's Q4_K: w = (d · s) · code − dmin · m. Host and device read this same file.
//
//   codes    as those of u4 (weights_layout.cuh): numbers of 0 to 15
//   scales   [K / 32][n]    a pair of bytes: s, then m, of 6 bits each
//   zeros    [K / 256][n]   a pair of f16: d, then dmin
#pragma once

#include "kernels/shared/multiply/weights_layout.cuh"

namespace tilesmith {

constexpr int kSuperColumns = 256;

struct SuperFactors {
  unsigned short d, dmin;  // bits of f16
};

}  // namespace tilesmith
