// Checks on the device after every run of a kernel of a user's own, so that large results need not come to the host.
// They count bytes of guards and elements of results that are wrong, and they sum up contents, so that two runs can be
// compared.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/own/kernel.hpp"
#include "runtime/driver/device.hpp"

namespace tilesmith::tuner {

class OwnChecks {
 public:
  /// Compiles its kernels. Throws std::runtime_error with the compiler's log: a broken environment.
  explicit OwnChecks(const runtime::Context& context);

  /// Forgets what was counted and summed. Nothing may be running.
  void reset(std::size_t sums);
  /// Enqueues the count of bytes that are not `expected`.
  void count_other_bytes(
      const runtime::Stream& stream, const std::byte* data, std::size_t bytes, unsigned char expected) const;
  /// Enqueues the count of elements that are wrong, as own_difference() has it.
  void count_wrong(const runtime::Stream& stream, const own::ElementType& type, const own::Tolerance& tolerance,
      const std::byte* expected, const std::byte* found, std::size_t bytes) const;
  /// Enqueues a sum that changes with any of the bytes, which are aligned to 8.
  void add_sum(const runtime::Stream& stream, const std::byte* data, std::size_t bytes, std::size_t sum) const;

  /// Waits for all of that.
  struct Found {
    std::uint64_t count = 0;
    std::vector<std::uint64_t> sums;
  };
  Found found(const runtime::Stream& stream) const;

 private:
  void launch(const runtime::Stream& stream, const std::string& entry, std::size_t items, void** parameters) const;

  std::vector<std::byte> cubin_;
  runtime::Module module_;
  std::vector<std::pair<std::string, CUfunc_st*>> functions_;
  runtime::DeviceBuffer results_;  ///< the count, then the sums
};

}  // namespace tilesmith::tuner
