// The families as they are today, for a device: what they allow, and how recorded configs read.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kernels/families/family.hpp"
#include "kernels/problem/task.hpp"

namespace tilesmith::tuner {

/// The config as its family, which has these parameters now, would have it: one recorded before parameters were added
/// gets the first value of each, then, for where a rule wants another, each other value of one of them. Empty if it has
/// a parameter that is no more. What is filled in was never tried: a guess at most.
std::vector<Config> as_of_today(const Config& config, const std::vector<Parameter>& parameters);

class FamiliesToday {
 public:
  /// The families' parameters and rules for one type pair and transposes, in their order.
  struct OfTarget {
    KernelTarget target;
    std::vector<Legality> families;
  };
  /// What else may be tried at all; empty: everything.
  using Knows = std::function<bool(const Task&, const Config&)>;

  FamiliesToday(std::vector<const Family*> families, DeviceLimits limits);

  /// Asked for once each, and kept. The reference holds until the next call.
  const OfTarget& of_target(const Problem& problem);
  /// Null if the config's family is none of these.
  const Legality* legality_of(const Config& config, const Problem& problem);
  /// The config as of today, if it may be tried on the problem: legal, eligible and known.
  std::optional<Config> runnable(const Config& config, const Problem& problem, const Knows& knows = {});

 private:
  std::vector<const Family*> families_;
  DeviceLimits limits_;
  std::vector<OfTarget> targets_;
};

}  // namespace tilesmith::tuner
