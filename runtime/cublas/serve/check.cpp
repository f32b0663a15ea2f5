#include "runtime/cublas/serve/check.hpp"

#include <vector>

#include "runtime/cublas/serve/compare.hpp"
#include "runtime/cublas/shim/cuda_driver.hpp"
#include "runtime/cublas/shim/settings.hpp"
#include "runtime/cublas/serve/take_over.hpp"
#include "runtime/cublas/shim/tilesmith_api.hpp"
#include "runtime/cublas/calls/type_pairs.hpp"

namespace tilesmith::cublas {
namespace {

constexpr std::uint64_t kMostTold = 10;  // differing calls, a line each

/// Device memory until the end of a scope. Waits for the device where it is given back.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) {
    if (cuda_driver()->alloc(&memory_, bytes) != 0) memory_ = 0;
  }
  ~Buffer() {
    if (memory_ != 0) cuda_driver()->free(memory_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  CudaDriver::Address get() const { return memory_; }

 private:
  CudaDriver::Address memory_ = 0;
};

CudaDriver::Address address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

Reason check(ShimState& state, KnownProblem& problem, const GemmCall& call, Forward forward, Status& status) {
  if (call.batch_kind == BatchKind::pointers || is_captured(call.stream)) return Reason::not_checked;
  const CudaDriver& driver = *cuda_driver();
  const std::int64_t elements = (call.batch - 1) * call.stride_d + (call.n - 1) * call.ldd + call.m;
  const std::size_t bytes = std::size_t(elements) * std::size_t(bytes_of(call.type_d));
  std::vector<unsigned char> ours(bytes), theirs(bytes);
  const Buffer separate(bytes);
  if (separate.get() == 0) return Reason::not_checked;
  // What lies between columns, and C where it is D, is part of what a run is given.
  if (driver.copy_within(separate.get(), address_of(call.d), bytes, call.stream) != 0) return Reason::not_checked;
  GemmCall apart = call;
  apart.d = reinterpret_cast<void*>(std::uintptr_t(separate.get()));
  if (call.c == call.d) apart.c = apart.d;
  if (const Reason reason = take_over(problem, apart); reason != Reason::none) return reason;
  status = forward();
  if (status != kSuccess) return Reason::none;
  if (driver.stream_synchronize(call.stream) != 0 || driver.copy_to_host(ours.data(), separate.get(), bytes) != 0 ||
      driver.copy_to_host(theirs.data(), address_of(call.d), bytes) != 0) {
    say("%s: not compared: the device failed", line_of(problem).c_str());
    return Reason::none;
  }
  state.checked.fetch_add(1);
  const Comparison compared = compare(call, problem.key, ours, theirs);
  if (compared.differing == 0) return Reason::none;
  if (state.differing.fetch_add(1) < kMostTold) {
    say("%s: %lld of %lld results differ; the first: entry %lld, row %lld, column %lld of D as cuBLAS sees it: %g here, %g by cuBLAS, tolerance %g",
        line_of(problem).c_str(), static_cast<long long>(compared.differing), static_cast<long long>(call.m * call.n * call.batch),
        static_cast<long long>(compared.entry), static_cast<long long>(compared.row), static_cast<long long>(compared.column), compared.ours,
        compared.theirs, compared.tolerance);
  }
  return Reason::none;
}

}  // namespace tilesmith::cublas
