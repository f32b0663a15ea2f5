// What all functions of the C interface have in common: handles, and failures as a status and a line.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <new>
#include <string>

#include "runtime/interface/gemm.hpp"
#include "runtime/interface/tilesmith.h"

struct tilesmith_library {
  tilesmith::Library library;
};

struct tilesmith_plan {
  tilesmith::GemmPlan plan;
};

namespace tilesmith::runtime {

/// A plain buffer: keeping a failure's text must not fail itself.
inline thread_local char last_error[1024] = "";

inline tilesmith_status fail(tilesmith_status status, const char* what) noexcept {
  std::snprintf(last_error, sizeof last_error, "%s", what);
  return status;
}

struct PointerArgument {
  const char* name;
  const void* pointer;
};

/// Refuses null pointers, then runs the call; turns what it throws into a status and the last error's text.
template <typename Call>
tilesmith_status guarded(const char* function, std::initializer_list<PointerArgument> arguments, Call&& call) noexcept {
  try {
    for (const auto& [name, pointer] : arguments) {
      if (pointer == nullptr)
        return fail(TILESMITH_BAD_ARGUMENT, (std::string(function) + ": " + name + " is null").c_str());
    }
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
