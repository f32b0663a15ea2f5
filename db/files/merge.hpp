// Brings records of other databases and files into a store, provenance kept. Nothing is overwritten.
#pragma once

#include <cstdint>
#include <filesystem>

#include "db/store/store.hpp"

namespace tilesmith::db {

struct MergeResult {
  std::int64_t added = 0;  ///< records entries
  std::int64_t known = 0;  ///< already there (same candidate, device, environment, run and time)
  std::int64_t builds_added = 0;
  std::int64_t vendor_added = 0;  ///< rows of what the vendor took
};

/// Everything of `from` (devices, problems, configs, builds, proofs, records, the vendor's times, runs) that `into`
/// lacks, in one transaction. What is added counts as recorded now, in the order of `from`; of a candidate, what `from`
/// recorded before an entry that `into` has stays before it.
MergeResult merge(Store& into, const Store& from);

/// One entry as it was recorded elsewhere, with its time and environment, unless it is there already.
MergeResult add_recorded(Store& into, const Record& entry);

/// A JSON export, a recording (zstd-compressed or not) or a bundle, told apart by content. Throws StoreError naming the
/// file and what was expected.
MergeResult import_file(Store& into, const std::filesystem::path& path);

}  // namespace tilesmith::db
