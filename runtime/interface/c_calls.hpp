// What all functions of the C interface do: nothing is thrown through them, and the last failure's text is kept.
#pragma once

#include <new>
#include <stdexcept>

#include "runtime/interface/gemm.hpp"
#include "runtime/interface/tilesmith.h"

struct tilesmith_library {
  tilesmith::Library library;
};

namespace tilesmith::runtime {

/// Keeps the text for tilesmith_last_error().
tilesmith_status fail(tilesmith_status status, const char* what) noexcept;
tilesmith_status null_argument(const char* function, const char* argument) noexcept;
const char* last_error_text() noexcept;

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
