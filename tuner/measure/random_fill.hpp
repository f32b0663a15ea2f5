// Fills device memory with random data of full entropy: zeros, ones and repeated values draw less power and so run
// faster than real data does.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "kernels/problem/type_pair.hpp"
#include "runtime/driver/device.hpp"

namespace tilesmith::tuner {

class RandomFill {
 public:
  /// Compiles a kernel for each type at its first need, and keeps it. The context must outlive it.
  explicit RandomFill(const runtime::Context& context);
  const runtime::Context& context() const { return context_; }

  /// Enqueues the filling of the buffer from an offset (a multiple of the element's size) to its end: floating types
  /// uniform in [-1, 1], integers over their whole range. The same seed gives the same bytes.
  void fill(const runtime::DeviceBuffer& buffer, std::size_t offset_bytes, Scalar type, std::uint64_t seed,
      const runtime::Stream& stream);

  /// The same with metadata of a 2:4 sparse operand of that type.
  void fill_metadata(const runtime::DeviceBuffer& buffer, std::size_t offset_bytes, Scalar type, std::uint64_t seed,
      const runtime::Stream& stream);

  /// The source of that kernel; `pairs`: of elements of 32 bits.
  static std::string metadata_source(bool pairs);
  /// The kernel's source, entry `random_fill`.
  static std::string source(Scalar type);

 private:
  const runtime::Module& module(int key, const std::string& source);
  void fill_by(const runtime::Module& module, const runtime::DeviceBuffer& buffer, std::size_t offset_bytes,
      std::size_t element_bytes, std::uint64_t seed, const runtime::Stream& stream);

  const runtime::Context& context_;
  std::unordered_map<int, runtime::Module> modules_;
};

}  // namespace tilesmith::tuner
