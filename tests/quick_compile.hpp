// NVRTC in a hurry: for tests that ask whether a source compiles, or whether two sources differ, but not how good the code is.
#pragma once

#include <string>
#include <vector>

#include "runtime/compile/compiler.hpp"

namespace tilesmith::tests {

/// The options, and one with which NVRTC optimises little, if it knows that (from CUDA 12.9 on): it takes a third of the time.
inline std::vector<std::string> optimising_little(std::vector<std::string> options) {
  static const char* const kLittle = "--Ofast-compile=max";
  static const bool known = runtime::compile_source("", "empty.cu", "", {kLittle}).ok;
  if (known) options.emplace_back(kLittle);
  return options;
}

}  // namespace tilesmith::tests
