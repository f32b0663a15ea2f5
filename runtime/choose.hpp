// Which config runs a problem, and why: exact entry → measured neighbours whose config is legal here → generic kernel.
// Pure: works on evidence already read, so that `explain` and the runtime library give the same answer.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/evidence.hpp"
#include "kernels/family.hpp"

namespace tilesmith::runtime {

enum class Rung { exact, neighbour, generic };
std::string_view name(Rung rung);

struct Choice {
  Config config;
  Rung rung = Rung::generic;
  std::string reason;                     ///< one line: why this rung and this config
  std::optional<db::Evidence> evidence;   ///< what it rests on; none on the generic rung
  db::Trust trust = db::Trust::valid;
  struct RunnerUp {
    Config config;
    Rung rung;
    double median_us = 0;                 ///< as measured, on its own problem
    std::string note;
  };
  std::vector<RunnerUp> runners_up;       ///< next best first, at most 5
};

/// `entries`: evidence with status ok of this device (any problem); retired entries are passed over. `now(family)` gives the
/// producer that this runtime would be. Never fails: the generic rung takes whatever is left.
Choice choose(std::span<const db::Evidence> entries, const Problem& problem, const KernelTarget& target,
              const std::function<db::Producer(const std::string& family)>& now);

}  // namespace tilesmith::runtime
