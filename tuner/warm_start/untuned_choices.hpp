// What the library would run for a problem if nobody tuned it. A search must try that too, or it could leave the
// problem slower than it was.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "db/store/store.hpp"
#include "runtime/choose/choosers.hpp"

namespace tilesmith::tuner {

/// Asks the library's own choosers. They are made when a signature is first asked for, and then kept: to read all
/// records again for each problem would take longer than a short time slice. A run's own records of other problems
/// therefore count only as far as they were there by then. Not thread-safe.
class UntunedChoices {
 public:
  /// The store must outlive it.
  UntunedChoices(runtime::DeviceInfo device, const db::Store& store)
      : device_(std::move(device)),
        catalogue_(runtime::catalogue_of(store)),
        choosers_(*catalogue_, device_, /*logs=*/false) {}

  struct Ranked {
    std::vector<Config> exact;  ///< by the problem's own records; empty if none of them counts
    /// Without its own records: filled if `exact` is empty, or if `was_cut_short`. The generic config is last.
    std::vector<Config> model;
  };
  /// Each list begins with the library's choice, and goes on with what it would run if it had to pass over those before.
  /// `was_cut_short`: the problem's records are of a search that ended before its final benchmark, perhaps before it
  /// had timed that choice.
  const Ranked& of(const Problem& problem, bool was_cut_short);

 private:
  runtime::DeviceInfo device_;
  std::unique_ptr<runtime::Catalogue> catalogue_;
  runtime::Choosers choosers_;
  struct Asked {
    Problem problem;
    bool was_cut_short;
    Ranked ranked;
  };
  std::optional<Asked> last_;  // asked for twice: when it is prepared, and when its slice begins
};

}  // namespace tilesmith::tuner
