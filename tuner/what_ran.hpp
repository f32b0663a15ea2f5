// What ran for an outcome, by the kernel that the store has.
#pragma once

#include <string>

#include "db/store.hpp"

namespace tilesmith::tuner {

/// The entry's plan hash (runtime/plan_hash.hpp): of its config's plan, and the kernel that its producer compiled for `arch`. Empty if
/// the store has none, if it did not compile, or if the producer's template (a replayed recording's) is not today's, whose launches
/// nobody knows any more.
std::string what_ran(const db::Store& store, const db::Evidence& entry, const std::string& arch);

}  // namespace tilesmith::tuner
