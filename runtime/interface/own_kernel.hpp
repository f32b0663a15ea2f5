// A kernel of your own, launched with the config that was tuned for its sizes. docs/own_kernels.md explains it.
//
//   tilesmith::OwnKernel softmax = library.kernel("kernels/row_softmax");        // a folder with kernel.json
//   softmax(stream, {{"rows", rows}}, out, in, cols);                            // asynchronous
//
// Hazards: those of gemm.hpp. Extents of your buffers are not checked: elements() says how many elements they need.
// The arguments of one call are read before it returns.
// Errors: as gemm.hpp. Unknown sizes, sizes that kernel.json refuses, too many or too few arguments, null pointers and
// values that are not what kernel.json computes are bad_argument; the line names the kernel and what was expected.
// Threads: all functions may be called by several threads at a time.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/interface/gemm.hpp"

namespace tilesmith {

namespace own {
class Kernel;
}

class OwnKernel {
 public:
  struct Size {
    template <std::integral Value>
    Size(std::string_view size, Value is) : name(size), value(std::int64_t(is)) {}
    std::string_view name;
    std::int64_t value;
  };

  OwnKernel(const OwnKernel&) = default;  // which also moves: a handle always has its library
  OwnKernel& operator=(const OwnKernel&) = default;
  ~OwnKernel() = default;

  const std::string& name() const noexcept;

  /// Enqueues the launches. `buffers`: device addresses of the arguments that are buffers, in their order. Sizes that
  /// are not given have the values of kernel.json. The library keeps the plan of each set of sizes: the first call makes
  /// it, which takes a millisecond to seconds, and throws not_planned if the stream is being captured. Later calls find
  /// it and launch.
  void run(CUstream_st* stream, std::span<const Size> sizes, std::span<void* const> buffers) const;

  /// The same with the kernel's arguments in their order: pointers to device memory, and values. Either give all values
  /// or none. An integer whose value in kernel.json is a size alone gives that size if `sizes` does not. Other values
  /// have to be what kernel.json computes.
  template <typename... Given>
  void operator()(CUstream_st* stream, std::initializer_list<Size> sizes, const Given&... given) const {
    const std::array<Argument, sizeof...(Given)> arguments{Argument(given)...};
    call(stream, {sizes.begin(), sizes.size()}, arguments);
  }

  /// Does what the first call with these sizes would do, except for the launch. Do not call it, nor explain(), while the
  /// calling thread captures a stream.
  void prepare(std::span<const Size> sizes) const;
  void prepare(std::initializer_list<Size> sizes) const { prepare(std::span(sizes.begin(), sizes.size())); }

  /// Where the config for these sizes came from; prepares them. Levels: "exact", "model" (by records of other sizes) and
  /// "generic" (nothing was measured: the first legal config in the order of kernel.json). It stays until clear_cache().
  const Explanation& explain(std::span<const Size> sizes) const;
  const Explanation& explain(std::initializer_list<Size> sizes) const {
    return explain(std::span(sizes.begin(), sizes.size()));
  }

  /// How many elements each buffer has at these sizes.
  std::vector<std::int64_t> elements(std::span<const Size> sizes) const;

 private:
  friend class Library;
  OwnKernel(std::shared_ptr<runtime::LibraryState> state, const own::Kernel& kernel)
      : state_(std::move(state)), kernel_(&kernel) {}

  class Argument {
   public:
    template <typename Value>
    explicit Argument(const Value& given) {
      if constexpr (std::integral<Value>) integer_ = std::int64_t(given), kind_ = Kind::integer;
      else if constexpr (std::floating_point<Value>) real_ = double(given), kind_ = Kind::real;
      else buffer_ = static_cast<const void*>(given);
    }

   private:
    friend class OwnKernel;
    enum class Kind { buffer, integer, real };
    Kind kind_ = Kind::buffer;
    const void* buffer_ = nullptr;
    std::int64_t integer_ = 0;
    double real_ = 0;
  };
  void call(CUstream_st* stream, std::span<const Size> sizes, std::span<const Argument> given) const;

  std::shared_ptr<runtime::LibraryState> state_;
  const own::Kernel* kernel_;
};

}  // namespace tilesmith
