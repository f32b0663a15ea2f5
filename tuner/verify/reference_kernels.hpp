// The verifier's device kernels of one type pair: operand generators, the plain reference, and the comparisons.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/problem/type_pair.hpp"
#include "runtime/driver/device.hpp"
#include "tuner/verify/shared_rules.hpp"

namespace tilesmith::tuner {

/// The part of the source that knows the pair's element formats, and the rules shared with the host.
std::string reference_formats(const TypePair& type);

/// Complete source text for NVRTC; includes nothing. `weights`: with the kernels for a B of weights.
std::string reference_source(const TypePair& type, bool weights = false);

/// Names of all kernels in that text.
std::vector<std::string> reference_entries(bool weights = false);

/// As the device's `Report`: written by every comparison.
struct Report {
  std::uint64_t first = ~std::uint64_t{0};
  std::uint64_t count = 0;

  std::uint64_t first_case() const { return first >> 48; }
  std::uint64_t first_slot() const { return (first >> 4) & ((std::uint64_t{1} << 44) - 1); }
  verify::Fault first_fault() const { return verify::Fault(first & 15); }
};

class ReferenceKernels {
 public:
  /// Compiles and loads. Throws std::runtime_error with the compiler's log if that fails: a broken environment.
  ReferenceKernels(const TypePair& type, const runtime::DeviceInfo& device, bool weights = false);

  /// Launches by name with one-dimensional blocks, enough of them for `threads`. Arguments as the kernel's, in order;
  /// their types must match it exactly.
  template <typename... Arguments>
  void launch(
      const runtime::Stream& stream, std::string_view entry, std::uint64_t threads, Arguments... arguments) const {
    void* parameters[] = {&arguments...};
    launch_linear(stream, entry, threads, parameters);
  }
  template <typename... Arguments>
  void launch_grid(const runtime::Stream& stream, std::string_view entry, const unsigned (&grid)[3],
      const unsigned (&block)[3], Arguments... arguments) const {
    void* parameters[] = {&arguments...};
    runtime::launch(function(entry), grid, block, 0, stream, parameters);
  }

 private:
  CUfunc_st* function(std::string_view entry) const;
  void launch_linear(
      const runtime::Stream& stream, std::string_view entry, std::uint64_t threads, void** parameters) const;

  runtime::Module module_;
  unsigned largest_grid_;
  std::vector<std::pair<std::string, CUfunc_st*>> functions_;
};

/// A sum over device memory that changes with any of its words. `bytes` is a multiple of 8.
void add_checksum(const ReferenceKernels& kernels, const runtime::Stream& stream, const std::byte* data,
    std::size_t bytes, std::byte* sum);

/// The candidates' workspace, with guards: filled with 0xff (NaN in every float format) before a run, so that a kernel
/// that trusts stale contents is found out, and checked on both sides after it.
class GuardedWorkspace {
 public:
  /// The address to run with, 256-byte aligned; null if `bytes` is 0. Enqueues the fill.
  void* prepare(const ReferenceKernels& kernels, const runtime::Stream& stream, std::size_t bytes);

  /// Enqueues the check of the bytes around the region prepared last. Faults are reported under `case_index`.
  void check(const ReferenceKernels& kernels, const runtime::Stream& stream, std::uint64_t case_index,
      std::byte* report) const;

 private:
  runtime::DeviceBuffer buffer_;
  std::size_t bytes_ = 0;
};

}  // namespace tilesmith::tuner
