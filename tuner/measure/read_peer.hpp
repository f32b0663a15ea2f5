// A read of a problem's operands as a peer: what the memory lets any kernel do that reads them once. Nothing is
// computed or written.
#pragma once

#include <vector>

#include "runtime/driver/device.hpp"
#include "tuner/measure/operand_sets.hpp"
#include "tuner/measure/stopwatch.hpp"

namespace tilesmith::tuner {

class ReadPeer {
 public:
  /// The context must be current and outlive it.
  explicit ReadPeer(const runtime::Context& context);

  /// One competitor for each way to deal the bytes to blocks: the fastest is the read's time. All matrices and vectors
  /// that a run reads, C where β ≠ 0; of a matrix from its first byte to its last, gaps between rows too. `operands`
  /// and this object must outlive them.
  std::vector<Competitor> competitors(const OperandSets& operands) const;

 private:
  runtime::Module module_;
  int sms_;
};

}  // namespace tilesmith::tuner
