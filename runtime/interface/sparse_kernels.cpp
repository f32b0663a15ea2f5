#include "runtime/interface/sparse_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "runtime/compile/compiler.hpp"
#include "runtime/driver/driver.hpp"

namespace tilesmith::runtime {
namespace {

constexpr unsigned kThreads = 256;
constexpr long long kBlocksOfSm = 16;

Module build_sparse(const DeviceInfo& device, Scalar element) {
  const KernelTarget target{{type_pairs().front(), {}}, device.limits};
  const SourceBuild built = compile_source(sparse_source(element), "sparse.cu", "compress", compiler_options(target));
  if (!built.ok) throw std::runtime_error(fmt::format("the kernels of sparse operands of {} do not compile: {}", name(element), built.log));
  return Module(built.cubin);
}

}  // namespace

std::string sparse_source(Scalar element) {
  const std::size_t bytes = size_bytes(element);
  const char* storage = bytes == 1 ? "unsigned char" : bytes == 2 ? "unsigned short" : "unsigned";
  const unsigned sign = element == Scalar::u8 ? 0 : 1u << (8 * bytes - 1);
  return fmt::format(
      "namespace tilesmith {{\nusing Element = {};\nconstexpr unsigned kSign = {}u;\nconstexpr bool kTwosComplement = {};\n}}\n#include \"kernels/sparse/sparse.cu\"\n",
      storage, sign, element == Scalar::s8);
}

void SparseKernels::launch(const DeviceInfo& device, Scalar element, const char* entry, long long items, SparseMatrixArgs args, CUstream_st* stream) {
  CUfunc_st* function = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    auto found = modules_.find(element);
    if (found == modules_.end()) found = modules_.emplace(element, build_sparse(device, element)).first;
    function = found->second.function(entry, 0);
  }
  const long long most = kBlocksOfSm * std::max(1, device.identity.sm_count);
  const unsigned blocks = unsigned(std::clamp<long long>((items + kThreads - 1) / kThreads, 1, most));
  void* parameters[] = {&args};
  check(driver().launch_kernel(function, blocks, 1, 1, kThreads, 1, 1, 0, stream, parameters, nullptr), "cuLaunchKernel");
}

}  // namespace tilesmith::runtime
