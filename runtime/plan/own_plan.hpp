// A plan of a kernel of a user's own: its launches at given sizes, ready to run. What the tuner times is this run().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/own/kernel.hpp"
#include "runtime/driver/device.hpp"

namespace tilesmith::runtime {

struct Driver;  // runtime/driver/driver.hpp

class OwnPlan {
 public:
  /// Finds the launches' kernels in a loaded module by its symbols (runtime/compile/kernel_symbols.hpp): those of a
  /// config, or of the kernel's reference. The kernel must outlive it. Throws DeviceError if a kernel is missing or the
  /// device refuses its resources, and std::invalid_argument if the module has none, or several, of a name.
  OwnPlan(std::shared_ptr<const Module> module, std::span<const std::string> symbols, const own::Kernel& kernel,
      const SizedKernel& sized, std::span<const Launch> launches);

  /// Enqueues the copies of constants and the launches, and nothing else: no allocation, no lock, no file, no compile; capturable in a CUDA graph.
  /// `buffers`: device addresses of the arguments that are buffers, in their order. Returns the driver's error code
  /// (0 = success), or one of the negative codes below without launching. Thread-safe.
  int run(std::span<void* const> buffers, CUstream_st* stream) const noexcept;

  static constexpr int kWrongCount = -1;  ///< there are more or fewer buffers than the kernel has
  static constexpr int kMisaligned = -2;  ///< a buffer's address is null, or no multiple of its element's size

 private:
  struct Parameter {
    std::size_t element_bytes = 0;  ///< of a buffer; 0: a value
    std::uint64_t value = 0;        ///< its bits, the lowest first
    std::byte* constant = nullptr;  ///< where a constant's buffer is copied to
    std::size_t constant_bytes = 0;
  };
  int copy(const void* from, const Parameter& constant, CUstream_st* stream) const noexcept;

  std::shared_ptr<const Module> module_;
  const Driver* driver_;  // kept, so that run() asks nobody for it
  std::vector<Parameter> parameters_;
  std::size_t buffers_ = 0;
  std::vector<Launch> launches_;
  std::vector<CUfunc_st*> functions_;  // one a launch
};

}  // namespace tilesmith::runtime
