// The inside of a Store, for the files of db/ that implement it: store, queries, builds, merge, bundle.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/store/rows.hpp"
#include "db/store/sqlite.hpp"
#include "db/store/store.hpp"

namespace tilesmith::db {

struct Store::Impl {
  std::filesystem::path path;
  bool read_only = false;
  Database database;
  ~Impl();
};

class StoreAccess {
 public:
  static const Database& database(const Store& store) { return store.impl_->database; }
};

/// Checks an entry and fills in what may be empty (created_at, origin). Throws std::logic_error if it contradicts
/// itself.
Record completed(const Record& record);
/// What others write in one line: what would break it, or speak to a terminal, becomes a space.
std::string one_line(std::string text);
/// This host's name.
std::string host_name();

/// Calls `use` with each entry of the file, failures of the machine among them, in the order of recording.
void for_each_record(const Database& database, const std::function<void(const Record&)>& use);

/// What to do where the kernel has a build already.
enum class OnKnown { replace, keep };

/// A build, and how its cubin is kept: to compress it again would be most of what a merge takes.
struct PackedBuild {
  KernelBuild build;
  std::string created_at;
  std::vector<std::byte> frame;  ///< empty: none was made yet
};

/// Returns whether the build was written. Within the caller's transaction.
bool insert_build(const Database& database, Interner& interner, const PackedBuild& packed, OnKnown on_known);
void for_each_build(const Database& database, const std::function<void(const PackedBuild&)>& use);

void insert_proof(Interner& interner, const Store::Proof& proof, const std::string& created_at, OnKnown on_known);
void for_each_proof(
    const Database& database, const std::function<void(const Store::Proof&, const std::string& created_at)>& use);

/// As completed() of an entry.
VendorTimes completed(const VendorTimes& times);
/// Inserts a row that vendor_times_error() lets through. Returns its id: `id`, which no row has, or else the next above
/// all others.
std::int64_t insert_row(Interner& interner, const VendorTimes& times, std::optional<std::int64_t> id = std::nullopt);
/// The id of the same row (problem, device, vendor, run, time and figures), if it is there already.
std::optional<std::int64_t> find_row(Interner& interner, const VendorTimes& times);
/// Calls `use` with each row of the file in the order of recording.
void for_each_vendor(const Database& database, const std::function<void(const VendorTimes&)>& use);

void insert_run(Interner& interner, const Run& run, OnKnown on_known);

}  // namespace tilesmith::db
