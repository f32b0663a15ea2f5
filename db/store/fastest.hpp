// Records by its times.
#pragma once

#include <vector>

#include "db/store/store.hpp"

namespace tilesmith::db {

/// As Store::records(), but the fastest first; entries without a time come last.
std::vector<Record> fastest_first(const Store& store, const RecordFilter& filter);

}  // namespace tilesmith::db
