// One call: taken over or forwarded.
#pragma once

#include "runtime/cublas/calls/gemm_call.hpp"
#include "runtime/cublas/calls/reason.hpp"
#include "runtime/cublas/shim/real_library.hpp"

#include <cstddef>

#include "runtime/cublas/calls/cublas_abi.hpp"

namespace tilesmith::cublas {

/// What a call's forwarding is, without its type.
struct Forward {
  Status (*call)(void* closure);
  void* closure;
  Status operator()() const { return call(closure); }
};
template <typename Closure>
Forward forward_to(Closure& closure) {
  return {[](void* of) -> Status { return (*static_cast<Closure*>(of))(); }, &closure};
}

/// False where the shim is off, where cuBLAS itself calls while it serves a call, and where the call is not for this
/// shim (has_real()).
bool is_wanted(Library library = Library::cublas) noexcept;

/// A call of cuBLAS: its handle is asked for stream, modes and workspace.
Status serve_gemm(GemmCall& call, Handle handle, Forward forward) noexcept;
/// A call of cuBLASLt, which has them.
Status serve_matmul(GemmCall& call, Forward forward) noexcept;

/// A call that is no problem of ours.
Status forward_because(Reason reason, Forward forward) noexcept;

/// What the application gave to a handle of cuBLAS, which has no getter for it. As there, another stream takes it away.
struct Workspace {
  void* memory = nullptr;
  std::size_t bytes = 0;
};
Workspace workspace_of(Handle handle) noexcept;

}  // namespace tilesmith::cublas
