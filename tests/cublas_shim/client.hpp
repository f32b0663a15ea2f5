// What the test programs share: expectations, and the stand-ins' own functions.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/interface/tilesmith.h"
#include "tests/cublas_shim/cublas.h"

inline int failures = 0;

#define EXPECT(condition)                                                 \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                         \
    }                                                                     \
  } while (false)

inline void expect_text(const char* file, int line, const std::string& found, const std::string& expected) {
  if (found == expected) return;
  std::printf("%s:%d: '%s', expected '%s'\n", file, line, found.c_str(), expected.c_str());
  ++failures;
}

/// A function of the stand-in of libtilesmith; null until the shim has opened it.
template <typename Function>
Function* of_tilesmith(const char* name) {
  void* const library = dlopen(std::getenv("TILESMITH_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
  return library != nullptr ? reinterpret_cast<Function*>(dlsym(library, name)) : nullptr;
}
inline int runs() {
  auto* const function = of_tilesmith<int()>("stand_in_tilesmith_runs");
  return function != nullptr ? function() : 0;
}
inline int plans() {
  auto* const function = of_tilesmith<int()>("stand_in_tilesmith_plans");
  return function != nullptr ? function() : 0;
}
inline std::string last_problem() { return of_tilesmith<const char*()>("stand_in_last_problem")(); }
inline tilesmith_run last_run() { return of_tilesmith<tilesmith_run()>("stand_in_last_run")(); }
inline const void* last_operand(tilesmith_operand role) { return last_run().operands[role]; }
inline float last_alpha() { return of_tilesmith<float()>("stand_in_last_alpha")(); }
template <typename Function>
Function* of_cuda(const char* name) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

/// Calls until it was taken over. False after a while.
template <typename Call>
bool is_taken_over(Call call) {
  const int before = runs();
  for (int i = 0; i < 5000; ++i) {
    if (call() != 0) return false;
    if (runs() > before) return true;
    usleep(2000);
  }
  return false;
}

/// Calls until its plan was made, and a few times more. True if none of them was taken over.
template <typename Call>
bool is_forwarded(Call call) {
  const int before = runs(), plans_before = plans();
  for (int i = 0; i < 5000 && plans() == plans_before; ++i) {
    call();
    usleep(2000);
  }
  for (int i = 0; i < 5; ++i) {
    usleep(20000);
    call();
  }
  return runs() == before;
}
