// What all functions of the C interface have in common: handles, and failures as a status and a line.
#pragma once

#include <new>

#include "runtime/interface/gemm.hpp"
#include "runtime/interface/tilesmith.h"

struct tilesmith_library {
  tilesmith::Library library;
};

struct tilesmith_plan {
  tilesmith::GemmPlan plan;
};

namespace tilesmith::runtime {

/// Of the calling thread.
const char* last_error() noexcept;
tilesmith_status fail(tilesmith_status status, const char* what) noexcept;
tilesmith_status null_argument(const char* function, const char* argument) noexcept;

/// Runs the call; turns what it throws into a status and the last error's text.
template <typename Call>
tilesmith_status guarded(Call&& call) noexcept {
  try {
    call();
    return TILESMITH_OK;
  } catch (const Error& error) {
    return fail(tilesmith_status(int(error.code())), error.what());
  } catch (const std::bad_alloc&) {
    return fail(TILESMITH_OUT_OF_MEMORY, "out of host memory");
  } catch (const std::exception& error) {
    return fail(TILESMITH_INTERNAL, error.what());
  } catch (...) {
    return fail(TILESMITH_INTERNAL, "unknown exception");
  }
}

}  // namespace tilesmith::runtime
