// The vendor's algorithms in a measuring process. Which of them play is found once a problem: the library's own first
// choice, and the fastest of the others by a single timing. They are then timed in turn with the finalists in each
// round of a final benchmark.
//
// None of their failures is anybody else's: it is the answer's message. A lost context alone is thrown on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/measure/cublaslt_peer.hpp"
#include "tuner/vendor.hpp"

namespace tilesmith::tuner {

class VendorContest {
 public:
  /// The library is opened when it is first asked for. The context must outlive it.
  explicit VendorContest(const runtime::Context& context) : context_(context) {}

  /// Those to play on these operands, which must outlive the next call of this or release(), or be followed by others
  /// of their problem at their place; none if `answer` says why. `control`: of the problem, for launches that are not
  /// short.
  std::vector<Competitor> players(const VendorAsk& ask, const OperandSets& operands, Stopwatch& stopwatch,
      const std::optional<Control>& control, VendorAnswer& answer);
  /// Takes the outcomes of players(), in their order.
  void conclude(const std::vector<db::Outcome>& outcomes, VendorAnswer& answer) const;
  /// Gives its device memory back.
  void release();

 private:
  std::vector<Competitor> offered(const OperandSets& operands, VendorAnswer& answer);
  void choose(const VendorAsk& ask, const std::vector<Competitor>& all, const OperandSets& operands,
      Stopwatch& stopwatch, const std::optional<Control>& control);
  void forget();

  const runtime::Context& context_;
  std::unique_ptr<CublasLtPeer> peer_;
  std::string unavailable_;
  std::optional<Problem> problem_;         ///< that the rest is of
  const OperandSets* operands_ = nullptr;  ///< on which they play; there may be others of the problem in their place
  std::vector<std::size_t> chosen_;        ///< among what is offered
  std::vector<Competitor> players_;        ///< these
  int offered_ = 0, timed_ = 0;
  std::string failure_;  ///< of the first that failed
};

}  // namespace tilesmith::tuner
