#include "runtime/interface/helper_kernels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "kernels/families/source_hash.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/interface/gemm.hpp"

namespace tilesmith::runtime {
namespace {

constexpr unsigned kHelperThreads = 256;
constexpr long long kMostBlocks = 65535;

}  // namespace

Module HelperKernels::load(
    const Context& context, bool can_compile, const std::string& source, const char* entry) const {
  const std::vector<std::string> options{
      "--gpu-architecture=" + context.info().limits.arch, "--std=c++17", "--device-as-default-execution-space"};
  const std::string key = fmt::format("helper\n{}", source_hash(source, fmt::format("{}", fmt::join(options, " "))));
  if (const auto cached = cache_.find(key, can_compile ? nvrtc_version() : std::string(), driver().version)) {
    try {
      return Module(cached->cubin);
    } catch (const DeviceError& error) {
      if (!is_of_kernel(error.code())) throw;
    }
  }
  if (!can_compile)
    throw Error(ErrorCode::no_kernel,
        fmt::format(
            "'{}' is compiled when it is first needed: expected allow_compile, and NVRTC where it is found", entry));
  const SourceBuild built = compile_source(source, "helper.cu", entry, options);
  if (!built.ok) throw Error(ErrorCode::no_kernel, fmt::format("'{}' does not compile: {}", entry, built.log));
  cache_.keep(key, nvrtc_version(), built.cubin);
  return Module(built.cubin);
}

CUfunc_st* HelperKernels::find(const Context& context, bool can_compile, const std::string& source, const char* entry) {
  const std::scoped_lock lock(mutex_);
  auto found = modules_.find(source);
  if (found == modules_.end()) found = modules_.emplace(source, load(context, can_compile, source, entry)).first;
  return found->second.function(entry, 0);
}

void HelperKernels::launch(const Context& context, bool can_compile, const std::string& source, const char* entry,
    long long items, void* args, CUstream_st* stream) {
  CUfunc_st* const kernel = find(context, can_compile, source, entry);
  const auto blocks = unsigned(std::clamp<long long>((items + kHelperThreads - 1) / kHelperThreads, 1, kMostBlocks));
  void* parameters[] = {args};
  check(driver().launch_kernel(kernel, blocks, 1, 1, kHelperThreads, 1, 1, 0, stream, parameters, nullptr),
      "cuLaunchKernel");
}

}  // namespace tilesmith::runtime
