// Arrays of pointers for problems with batch_mode=pointers whose matrices lie at fixed distances: as verification,
// timing and trials have them.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "runtime/driver/device.hpp"
#include "runtime/plan/plan.hpp"

namespace tilesmith::runtime {

/// Keeps the arrays that it made. Not thread-safe.
class PointerTables {
 public:
  /// In the place of each matrix of a batch that a kernel finds by pointers: the array of its entries' addresses,
  /// Problem's strides apart, in an order that no distance describes: a kernel that goes on from one of them is wrong.
  /// Makes what it has not, which allocates and copies. Of other problems args stay as they are.
  void put(const Problem& problem, RunArgs& args);

 private:
  /// By the first entry's address, the bytes from one to the next, and their count.
  std::map<std::tuple<const void*, std::int64_t, std::int64_t>, DeviceBuffer> tables_;
};

}  // namespace tilesmith::runtime
