#include "runtime/interface/repack_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "runtime/compile/compiler.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/interface/gemm.hpp"
#include "runtime/interface/weights_source.hpp"

namespace tilesmith::runtime {
namespace {

constexpr unsigned kRepackThreads = 256;

void enqueue_repack(CUfunc_st* kernel, long long threads, CUstream_st* stream, RepackArgs& args) {
  const auto blocks = unsigned(std::clamp<long long>((threads + kRepackThreads - 1) / kRepackThreads, 1, 65535));
  void* parameters[] = {&args};
  check(driver().launch_kernel(kernel, blocks, 1, 1, kRepackThreads, 1, 1, 0, stream, parameters, nullptr), "cuLaunchKernel");
}

/// What a check finds: 1 + the number of what is refused, or 0.
int found_by(CUfunc_st* check_kernel, long long threads, CUstream_st* stream, RepackArgs& args) {
  constexpr int kNone = std::numeric_limits<int>::max();
  int found = kNone;
  DeviceBuffer fault(sizeof found);
  fault.upload(std::as_bytes(std::span(&found, 1)));
  args.fault = reinterpret_cast<int*>(fault.data());
  enqueue_repack(check_kernel, threads, stream, args);
  check(driver().stream_synchronize(stream), "cuStreamSynchronize");
  fault.download(std::as_writable_bytes(std::span(&found, 1)));
  return found == kNone ? 0 : found;
}

template <typename Value>
Value downloaded(const void* at) {
  Value value;
  check(driver().memcpy_to_host(&value, CUdeviceptr(reinterpret_cast<std::uintptr_t>(at)), sizeof value), "cuMemcpyDtoH");
  return value;
}

}  // namespace

std::string RepackKernels::source() { return "#include \"kernels/weights/repack.cu\"\n"; }

CUfunc_st* RepackKernels::kernel(const Context& context, bool may_compile, const char* entry) {
  const std::scoped_lock lock(mutex_);
  if (!module_) {
    if (!may_compile) throw Error(ErrorCode::no_kernel, "weights are repacked by kernels that NVRTC compiles: expected allow_compile, and NVRTC where it is found; or on_host");
    const std::vector<std::string> options{"--gpu-architecture=" + context.info().limits.arch, "--std=c++17", "--device-as-default-execution-space"};
    const SourceBuild built = compile_source(source(), "repack.cu", "repack_codes", options);
    if (!built.ok) throw Error(ErrorCode::no_kernel, fmt::format("the kernels that repack weights do not compile: {}", built.log));
    module_.emplace(built.cubin);
  }
  return module_->function(entry, 0);
}

void RepackKernels::run(const Context& context, bool may_compile, CUstream_st* stream, RepackArgs args) {
  if (checks_order(args)) {
    if (const int fault = found_by(kernel(context, may_compile, "find_unordered"), args.k, stream, args); fault != 0)
      refuse_order(args, fault, downloaded<int>(args.group_of + (fault - 1)));
  }
  const long long scales = args.groups * args.n;
  if (checks_zeros(args)) {
    if (const int fault = found_by(kernel(context, may_compile, "find_zeros"), scales, stream, args); fault != 0) {
      const long long index = fault - 1, n = index % args.n, in_word = 32 / args.bits;
      const long long word = index / args.n * ((args.n + in_word - 1) / in_word) + n / in_word;
      const unsigned held = downloaded<unsigned>(args.zeros + word * 4);
      const int nibble = args.source == kAwqSource ? awq_nibble(int(n % 8)) : int(n % in_word);
      refuse_zero(args, fault, int(held >> nibble * args.bits & ((1u << args.bits) - 1)) + args.zero_added);
    }
  }
  if (args.n == 0) return;
  enqueue_repack(kernel(context, may_compile, "repack_codes"), code_bytes(args.bits, args.n, args.k) / 4, stream, args);
  enqueue_repack(kernel(context, may_compile, "repack_scales"), scales, stream, args);
}

}  // namespace tilesmith::runtime
