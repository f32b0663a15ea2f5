// The space of family `wmma`: its parameters, and the rules that prune it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith::wmma {

bool supports(const KernelTarget& target);
std::vector<Parameter> parameters(const KernelTarget& target);
std::vector<Rule> rules(const KernelTarget& target);

/// Why the config's fragments, read straight from global memory, cannot span the problem's rows; empty if they can.
std::optional<std::string> out_of_reach(const Config& config, const Problem& problem);

/// Values of parameters that depend on the type pair.
std::vector<int> fragment_sizes(const TypePair& type);
std::vector<int> k_steps(const TypePair& type);
std::vector<int> copy_widths(const TypePair& type);

}  // namespace tilesmith::wmma
