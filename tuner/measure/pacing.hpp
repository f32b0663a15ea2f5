// Small kernels around the timed ones: a blocking kernel that keeps the device busy while the host enqueues, a scrub
// that evicts the L2, the fixed reference work whose time tells how fast the device runs at the moment, and the kernel
// that stands for an application's own between two GEMMs.
#pragma once

#include "runtime/driver/device.hpp"

namespace tilesmith::tuner {

class Pacing {
 public:
  explicit Pacing(const runtime::Context& context);

  /// About 40 µs in which one thread waits. What is enqueued meanwhile starts without the host's latency between the
  /// event before it and its first launch.
  void blocking_kernel(const runtime::Stream& stream);
  /// Reads twice the L2, so that nothing read or written before is still in it.
  void scrub(const runtime::Stream& stream);
  /// Multiply-adds in registers on every multiprocessor, some tens of µs: bound by the SM clock and by nothing else.
  void reference_work(const runtime::Stream& stream);

  /// An elementwise update of 1 MiB of its own, launched as an application would: it lets nothing come before it ends,
  /// and evicts no more of the L2 than that 1 MiB.
  void another_kernel(const runtime::Stream& stream);

  static const char* source();

 private:
  const runtime::Context& context_;
  runtime::Module module_;
  CUfunc_st* blocking_kernel_;
  CUfunc_st* scrub_kernel_;
  CUfunc_st* reference_work_;
  CUfunc_st* another_kernel_;
  runtime::DeviceBuffer sink_;     ///< never written; keeps the compiler from dropping the work
  runtime::DeviceBuffer scrub_;    ///< made at first use
  runtime::DeviceBuffer updated_;  ///< by another_kernel()
};

}  // namespace tilesmith::tuner
