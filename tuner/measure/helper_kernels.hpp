// Compiles, loads and launches the few kernels that measuring itself needs.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/compile/compiler.hpp"
#include "runtime/driver/device.hpp"

namespace tilesmith::tuner {

/// Throws std::runtime_error with the compiler's log: these kernels are ours, so a failure is a broken environment.
inline runtime::Module load_helper(
    const runtime::Context& context, const std::string& source, const std::string& entry) {
  const std::vector<std::string> options{"--gpu-architecture=" + context.info().limits.arch, "--std=c++17"};
  const runtime::SourceBuild build = runtime::compile_source(source, entry + ".cu", entry, options);
  if (!build.ok)
    throw std::runtime_error(fmt::format("the measuring kernel {} does not compile: {}", entry, build.log));
  return runtime::Module(build.cubin);
}

/// Arguments as the kernel's, in order; their types must match it exactly.
template <typename... Arguments>
void launch_helper(CUfunc_st* kernel, const unsigned (&grid)[3], unsigned threads, const runtime::Stream& stream,
    Arguments... arguments) {
  void* parameters[] = {&arguments...};
  const unsigned block[3] = {threads, 1, 1};
  runtime::launch(kernel, grid, block, 0, stream, parameters);
}

}  // namespace tilesmith::tuner
