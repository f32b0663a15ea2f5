// Evidence by its times.
#pragma once

#include <vector>

#include "db/store/store.hpp"

namespace tilesmith::db {

/// As Store::evidence(), but the fastest first; entries without a time come last.
std::vector<Evidence> fastest_first(const Store& store, const EvidenceFilter& filter);

}  // namespace tilesmith::db
