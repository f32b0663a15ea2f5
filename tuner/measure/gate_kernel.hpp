// What an application without gated epilogues runs behind its GEMM: a kernel that reads the product and writes
// silu(x)·y. Of the peer alone.
#pragma once

#include "kernels/problem/problem.hpp"
#include "runtime/driver/device.hpp"

namespace tilesmith::tuner {

class GateKernel {
 public:
  /// For gated problems of one entry. The context must be current and outlive it.
  GateKernel(const runtime::Context& context, const Problem& problem);

  /// `product`: [m, n] packed, in D's type. Throws DeviceError.
  void enqueue(const void* product, void* d, const runtime::Stream& stream) const;

 private:
  Problem problem_;
  int vector_;  // pairs of a thread
  runtime::Module module_;
};

}  // namespace tilesmith::tuner
