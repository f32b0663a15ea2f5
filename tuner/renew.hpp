// Evidence that outlives a change of its kernels' templates: where the same launches of the same machine code come out of today's
// templates, what was measured is theirs.
#pragma once

#include <cstddef>
#include <vector>

#include "db/store.hpp"
#include "kernels/family.hpp"
#include "tuner/workers/device_evaluator.hpp"

namespace tilesmith::tuner {

/// Of a device's entries by today's templates that do not say what ran, says it of those whose kernel the store has. Returns of how
/// many.
std::size_t note_what_ran(db::Store& store, const db::DeviceIdentity& device, const DeviceLimits& limits);

/// An entry by former templates, and its config as its family would have it today.
struct Renewable {
  db::Evidence entry;
  Config today;
};

struct Renewables {
  std::vector<Renewable> candidates;
  /// Candidates whose latest entry has a time and is retired, and that were not tried by today's templates.
  std::size_t retired = 0;
  std::size_t unknown = 0;       ///< of these, how many do not say what ran
  std::size_t not_eligible = 0;  ///< how many may not run on their problem any more, or need not be tried
};

/// Of each problem the first so many of the retired candidates that may be renewed, in the order in which the one ranking (db/ranked.hpp) has
/// them once they are renewed: times of today's measuring policy before others.
Renewables renewables(const db::Store& store, const db::DeviceIdentity& device, const DeviceLimits& limits,
                      std::size_t first);

/// Their kernels, each once, as today's templates have them.
std::vector<CompileJob> jobs_of(const std::vector<Renewable>& candidates, const DeviceLimits& limits);

struct Renewed {
  std::size_t same = 0;          ///< now have an entry by today's templates, with their time, run and origin
  std::size_t changed = 0;       ///< something else would run
  std::size_t not_compiled = 0;  ///< the store has no kernel of today's
};

/// Takes over the entries of those for which the same would run; of a config that has got parameters since, as it reads today, beside
/// the former entry, an instant after it, all of them in one transaction. The store has the kernels by then (jobs_of). Throws
/// std::runtime_error if NVRTC is not usable.
Renewed renew(db::Store& store, const std::vector<Renewable>& candidates, const DeviceLimits& limits);

}  // namespace tilesmith::tuner
