// From a file to the tables that strategies are simulated on.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/search/simulation.hpp"

namespace tilesmith::tuner {

struct LoadedTables {
  std::vector<OutcomeTable> tables;
  std::size_t too_small = 0;  ///< problems left out: fewer configs than asked for, or none with a time
};

/// A recording (db/exchange/recording.hpp) gives a table for each problem with at least `min_configs` recorded configs:
/// all families together, a parameter's values being those that were recorded, sorted. Any other file is read as a
/// cache or T4 results file of Kernel Tuner and gives one table, whatever its size. Files may be gzip- or
/// zstd-compressed, whatever their names. Tables are named after the file (and problem). Throws db::StoreError.
LoadedTables load_outcome_tables(const std::filesystem::path& path, std::size_t min_configs);

/// Whether the bytes begin as a gzip file does.
bool is_gzip(std::string_view bytes);

/// All members' content, joined. nullopt if it is no sound gzip file, or if its content is larger than `limit_bytes`.
std::optional<std::string> gunzip(std::string_view bytes, std::size_t limit_bytes);

}  // namespace tilesmith::tuner
