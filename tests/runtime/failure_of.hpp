// What the library's calls fail with.
#pragma once

#include "runtime/interface/gemm.hpp"

namespace tilesmith {

/// 0 if the call does not throw.
template <typename Call>
ErrorCode failure_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode(0);
}

}  // namespace tilesmith
