#include "tuner/measure/helper_kernels.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "runtime/compile/compiler.hpp"

namespace tilesmith::tuner {

runtime::Module load_helper(const runtime::Context& context, const std::string& source, const std::string& entry) {
  const std::vector<std::string> options{"--gpu-architecture=" + context.info().limits.arch, "--std=c++17"};
  const runtime::SourceBuild build = runtime::compile_source(source, entry + ".cu", entry, options);
  if (!build.ok)
    throw std::runtime_error(fmt::format("the measuring kernel {} does not compile: {}", entry, build.log));
  return runtime::Module(build.cubin);
}

}  // namespace tilesmith::tuner
