// Configs that were recorded before their family had all of today's parameters: how they read today, and what nobody has tried of
// what was added since.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernels/config.hpp"
#include "kernels/family.hpp"

namespace tilesmith::tuner {

/// The config as its family, which has these parameters now, would have it: one recorded before parameters were added gets the
/// first value of each, then, for where a rule wants another, each other value of one of them. Empty if it has a parameter
/// that is no more. What is filled in was never tried: a guess at most.
std::vector<Config> as_of_today(const Config& config, const std::vector<Parameter>& parameters);

/// The parameters that some recorded configs of a problem lack, and of which no other one has more than the first value. Neither a model
/// of the evidence nor a search around the best says anything of the others, however much better they are.
class AddedParameters {
 public:
  /// A config as it was recorded, whatever came of it.
  void saw(const Config& recorded, const std::vector<Parameter>& parameters);
  /// The config, one of today's, with each value of such a parameter that it does not have.
  std::vector<Config> untried(const Config& config, const std::vector<Parameter>& parameters) const;

 private:
  struct Seen {
    bool lacking = false, beyond_first = false;
  };
  std::map<std::string, Seen> seen_;  // by family and parameter
};

}  // namespace tilesmith::tuner
