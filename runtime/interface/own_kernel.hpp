// A kernel of your own, launched with the config that was tuned for its sizes. docs/own_kernels.md explains it.
//
//   tilesmith::OwnKernel softmax = library.kernel("kernels/row_softmax");        // a folder with kernel.json
//   softmax(stream, {{"rows", rows}}, out, in, cols);                            // asynchronous
//
// Hazards: those of gemm.hpp. How large your buffers are is not checked: elements() says what the kernel needs.
// Errors: as gemm.hpp. What does not fit kernel.json is bad_argument, in a line that names the kernel.
// Threads: all functions may be called by several threads at a time.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gemm.hpp"

namespace tilesmith {

/// A handle with plans of its own, which its copies share: keep it, as long as what it launched runs.
class OwnKernel {
 public:
  using Size = std::pair<std::string, std::int64_t>;

  OwnKernel(const OwnKernel&) = default;  // which moves too, so that every handle has its library
  OwnKernel& operator=(const OwnKernel&) = default;

  /// Enqueues the launches. `buffers`: device addresses of the arguments that are buffers, in their order. Sizes that
  /// are not given are those of kernel.json. The first call with new sizes makes a plan, which takes a millisecond to
  /// seconds, and throws not_planned if the stream is being captured.
  void run(CUstream_st* stream, std::span<const Size> sizes, std::span<void* const> buffers) const;

  /// The same with pointers and values in the order of the kernel's arguments, or without any values. An integer that
  /// is a size alone in kernel.json gives that size if `sizes` does not. Others have to be what kernel.json computes.
  template <typename... Given>
  void operator()(CUstream_st* stream, std::initializer_list<Size> sizes, const Given&... given) const {
    call(stream, sizes, std::array<Argument, sizeof...(Given)>{argument(given)...});
  }

  /// Makes the plan for these sizes. Do not call it, nor explain(), while the calling thread captures a stream.
  void prepare(const std::vector<Size>& sizes) const { (void)explain(sizes); }
  /// Where the config for these sizes came from; prepares them. Levels: "exact", "model" (records of other sizes),
  /// "generic" (none: the first legal config in the order of kernel.json).
  Explanation explain(const std::vector<Size>& sizes) const;
  /// How many elements each buffer has at these sizes.
  std::vector<std::int64_t> elements(const std::vector<Size>& sizes) const;

 private:
  friend class Library;
  struct Shared;
  using Argument = std::variant<const void*, double>;  // values are compared as doubles
  template <typename Value>
  static Argument argument(Value given) {
    if constexpr (std::is_arithmetic_v<Value>) return static_cast<double>(given);
    else return static_cast<const void*>(given);
  }
  void call(CUstream_st* stream, std::vector<Size> sizes, std::span<const Argument> given) const;

  explicit OwnKernel(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<Shared> shared_;
};

}  // namespace tilesmith
