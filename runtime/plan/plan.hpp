// A plan: the launches that solve one problem with one config, ready to run. What the tuner times is this run().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/families/family.hpp"
#include "kernels/problem/operand.hpp"
#include "kernels/shared/tensor_args.cuh"
#include "runtime/driver/device.hpp"

namespace tilesmith::runtime {

struct Driver;  // runtime/driver/driver.hpp

/// What changes from one run to the next. Pointers are device addresses. Set by name: later versions have more.
struct RunArgs {
  ByRole<void*> matrices;  ///< only D is written. C is null: D, which is then overwritten in place
  Scale
      alpha{};  ///< Not looked at where the problem's scalars lie in device memory. Then `matrices` has their addresses.
  Scale beta{};
  void* workspace = nullptr;  ///< Plan::workspace_bytes() bytes, 256-byte aligned; null if that is 0
  CUstream_st* stream = nullptr;
  bool early_in_graphs = false;  ///< LibraryOptions::early_in_graphs
  /// Of a grouped problem: where the kernel puts 1 + the number of a group whose end is wrong. Memory that the host may
  /// read; null: nowhere.
  int* group_fault = nullptr;

  void set(OperandRole role, const void* matrix) { matrices[role] = const_cast<void*>(matrix); }
  /// C where none is given is D.
  void* matrix(OperandRole role) const {
    return role == OperandRole::c && matrices[role] == nullptr ? matrices[OperandRole::d] : matrices[role];
  }
};

class Plan {
 public:
  /// Resolves the launches of the config for the problem in a loaded module, which may be null where M = 0 or N = 0.
  /// Throws DeviceError if a kernel is missing or the device refuses its resources; throws std::invalid_argument if the
  /// family refuses the problem. `most_sms`, above 0: persistent grids are made as for a device of no more SMs, so that
  /// a block has several tiles of small problems, too (verification).
  Plan(std::shared_ptr<const Module> module, const Config& config, const Problem& problem, int most_sms = 0);

  const Problem& problem() const { return problem_; }
  const Config& config() const { return config_; }
  std::size_t workspace_bytes() const { return sequence_.workspace_bytes; }

  /// Enqueues the launches and nothing else: no allocation, no lock, no file, no compile; capturable in a CUDA graph.
  /// Returns the driver's error code (0 = success), or one of the negative codes below without launching. Thread-safe.
  /// On sm_90 the first launch of a config with `early_launch` may start while the kernel before it in the stream still
  /// ends (programmatic dependent launch); it waits on the device for that end before it touches memory. In a graph
  /// only with `early_in_graphs`, behind such a plan (captured_order.hpp).
  /// C is copied to D first, by the driver, where it is another matrix, no kernel of the signature takes both
  /// (is_fused), and β may not be 0. Not of groups, nor by pointers (kCopiesRows).
  /// If α = 0 or K = 0, A and B are not read and may be anything; if α lies in device memory they are read, and ignored
  /// if it is 0. If M = 0 or N = 0, nothing is launched.
  int run(const RunArgs& args) const noexcept;

  static constexpr int kMisaligned =
      -1;  ///< a pointer breaks the problem's align_bytes, or is no multiple of an element
  static constexpr int kMissingWorkspace = -2;  ///< none was given, or one that is not 256-byte aligned
  static constexpr int kNullPointer = -3;       ///< a matrix is null that would be read or written
  static constexpr int kOverlap =
      -4;  ///< D has an element in common with A, B, a vector (is_vector), or a C that is not D.
  static constexpr int kCopiesRows =
      -5;  ///< C would have to be copied to D, and the host does not know its rows: of groups, or by pointers.

 private:
  int put_maps(const GemmArgs& args, TensorGemmArgs& with_maps) const noexcept;

  /// How a matrix lies, in bytes. `whole`: from its first to its last element; `row`: of one row, of entries side by
  /// side in it those of all.
  struct Extent {
    std::uintptr_t whole = 0, row = 0, stride = 0;
  };
  static Extent extent_of(const OperandMatrix& matrix);
  static bool have_common(std::uintptr_t x, const Extent& of_x, std::uintptr_t y, const Extent& of_y) noexcept;

  /// Of the one launch that takes them. Those of the operands are unset where K = 0.
  struct TensorMaps {
    TensorMap a, b;
    std::optional<TensorMap> d;
  };

  Problem problem_;
  Config config_;
  LaunchSequence sequence_;
  std::shared_ptr<const Module> module_;
  const Driver* driver_;               // kept, so that run() asks nobody for it
  std::vector<CUfunc_st*> functions_;  // one a launch of the sequence; none if there is nothing to do
  std::optional<TensorMaps> maps_;     // of the launch that has boxes, with no address yet
  ByRole<std::size_t> align_bytes_;    // what each matrix's address is a multiple of
  ByRole<Extent> extents_;
};

/// α or β as the type pair's scale type: rounds to f32, keeps f64; s32 must be an integer that 32 bits hold, else
/// std::invalid_argument is thrown (a NaN, too, is no integer). The bytes beyond the member in use are zero.
Scale to_scale(const TypePair& type, double value);

}  // namespace tilesmith::runtime
