// NVRTC in a hurry: for tests that ask whether a source compiles, or whether two sources differ, but not how good the
// code is.
#pragma once

#include <string>
#include <vector>

#include "runtime/compile/compiler.hpp"

namespace tilesmith::tests {

/// The options, and the one with which NVRTC optimises less, if it knows that (from CUDA 12.9 on): it then takes about
/// half the time. What constants leave out is gone all the same. (Not so with "max": what is behind a function's
/// argument stays.)
inline std::vector<std::string> optimising_less(std::vector<std::string> options) {
  static const char* const kLess = "--Ofast-compile=mid";
  static const bool known = runtime::compile_source("", "empty.cu", "", {kLess}).ok;
  if (known) options.emplace_back(kLess);
  return options;
}

}  // namespace tilesmith::tests
