// The export format `header`: see export.hpp.
#pragma once

#include <span>
#include <string>

#include "db/exchange/export.hpp"

namespace tilesmith::db {

/// A C++17 header, standard library only: a constexpr table of the bests, find() by problem and device, and parameter()
/// by name.
std::string export_header(std::span<const JudgedBest> bests);

}  // namespace tilesmith::db
