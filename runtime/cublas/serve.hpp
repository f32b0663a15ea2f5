// One call: taken over or forwarded.
#pragma once

#include "runtime/cublas/gemm_call.hpp"
#include "runtime/cublas/reason.hpp"

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

/// False where the shim is off, or where cuBLAS itself calls while it serves a call.
bool is_wanted() noexcept;

/// `handle`: of cuBLAS, whose state is asked for; null where the call has its stream, modes and workspace.
Status serve(GemmCall& call, Handle handle, Forward forward) noexcept;

/// A call that is no problem of ours.
Status forward_because(Reason reason, Forward forward) noexcept;

}  // namespace tilesmith::cublas
