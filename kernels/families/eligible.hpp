// Which configs of a family are eligible for a problem: what may run, and may win.
#pragma once

#include "kernels/families/family.hpp"

namespace tilesmith {

/// Neither refused nor dominated. Precondition: the config is legal for the problem's type pair and transposes.
inline bool eligible(const Family& family, const Config& config, const Problem& problem) {
  return !refused_because(family, config, problem) && !family.dominated(config, as_planned(problem));
}

}  // namespace tilesmith
