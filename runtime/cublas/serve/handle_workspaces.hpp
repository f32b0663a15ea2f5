// Which workspace the application gave to which handle of cuBLAS, which has no getter for it. As there, another stream
// takes it away.
#pragma once

#include <cstddef>

#include "runtime/cublas/calls/cublas_abi.hpp"

namespace tilesmith::cublas {

struct Workspace {
  void* memory = nullptr;
  std::size_t bytes = 0;
};

/// A handle is one thread's at a time, as cuBLAS demands. No lock, no allocation; of very many handles some have none.
void note_workspace(Handle handle, Workspace workspace) noexcept;
Workspace workspace_of(Handle handle) noexcept;

}  // namespace tilesmith::cublas
