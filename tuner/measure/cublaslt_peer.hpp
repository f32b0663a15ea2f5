// cuBLASLt as a peer: all the algorithms that it offers for a problem, to be timed by our rules. libcublasLt is opened
// at run time if the machine has it. Never a reference for correctness.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/driver/device.hpp"
#include "tuner/measure/operand_sets.hpp"
#include "tuner/measure/stopwatch.hpp"

namespace tilesmith::tuner {

class CublasLtPeer {
 public:
  /// Workspace offered to the peer.
  static constexpr std::size_t kWorkspaceBytes = std::size_t{256} << 20;

  /// Throws std::runtime_error (one line: where it was looked for) if libcublasLt is not there or does not start. The
  /// context must be current and outlive it.
  explicit CublasLtPeer(const runtime::Context& context);
  ~CublasLtPeer();

  /// Whether cuBLASLt computes this as well. It scales 8-bit floats, both operands in one way, or NT products by blocks
  /// of K, not both by 128x128. Its bias lies along our N. kActivations has its activations. Behind a product of one
  /// entry a gate is a kernel of ours.
  static bool computes(const KernelSignature& signature);
  /// Why competitors() is empty, in one line.
  static std::string not_timed_because(const KernelSignature& signature);

  /// "13.1.0"
  std::string version() const;

  /// One competitor an algorithm, the peer's own first choice first; empty if it refuses the problem, or does not
  /// compute it. Behind a gated product a kernel of ours gates it (gate_kernel.hpp), in the time too. α and β as of our
  /// own (stopwatch.hpp). Of a grouped problem they are a matmul a group, with the even split that OperandSets has
  /// known on the host; the first 8 choices alone. Of a batch by pointers it takes the distances at which OperandSets
  /// lays out the entries. `operands` and this object must outlive them.
  std::vector<Competitor> competitors(const OperandSets& operands);

  /// An algorithm of the last competitors(), by its place there and the library's own numbers for it, as far as it
  /// tells them: "#0 id=66 tile=20 stages=35 ...".
  std::string description(std::size_t place) const;

 private:
  std::vector<Competitor> competitors_of_groups(const OperandSets& operands);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilesmith::tuner
