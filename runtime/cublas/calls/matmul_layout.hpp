// A cublasLtMatrixLayout_t, read.
#pragma once

#include "runtime/cublas/calls/cublas_abi.hpp"

namespace tilesmith::cublas {

struct MatrixLayout {
  int type = 0, order = kOrderCol;
  std::int64_t rows = 0, cols = 0, ld = 0;
  int batch = 1, batch_mode = 0;
  std::int64_t stride = 0;  // elements; 0 where the batch is one

  bool operator==(const MatrixLayout&) const = default;
};

using DescriptorGetter = Status(Descriptor, int attribute, void* value, std::size_t bytes, std::size_t* written);

/// False: cuBLASLt does not tell. Remembers what the bytes of a layout mean: applications make the same ones again and again.
bool read_layout(Descriptor layout, MatrixLayout& result) noexcept;

}  // namespace tilesmith::cublas
