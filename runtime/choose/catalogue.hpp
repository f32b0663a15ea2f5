// What a database or a bundle offers a runtime: records and compiled kernels. Needs no device.
//
// Threads: one at a time (Library holds a lock while it asks).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "db/store/record.hpp"
#include "db/store/store.hpp"
#include "kernels/families/family.hpp"

namespace tilesmith::runtime {

class Catalogue {
 public:
  virtual ~Catalogue() = default;

  /// All records of type pairs that tell of this one (choose.hpp), of devices of this compute capability, whatever its
  /// status.
  virtual std::vector<db::Record> records(const TypePair& type, int sm) const = 0;

  /// All records of a user's own kernel, of devices of this compute capability.
  virtual std::vector<db::Record> records_of_kernel(const std::string& /*name*/, int /*sm*/) const { return {}; }

  /// A kernel with a cubin that this key's architecture can load: the very key if it is there, else the same kernel
  /// hash by another NVRTC. If all need a newer driver (too_new_for_driver), one of them, so that its refusal is told.
  virtual std::optional<db::KernelBuild> find_build(const db::KernelKey& key, int driver_version) const = 0;

  /// What the vendor took on this very device, the newest first.
  virtual std::vector<db::VendorTimes> vendor_times(const TypePair& type, const db::DeviceIdentity& device) const = 0;

  /// The one device whose bests are offered; of a database none.
  virtual std::optional<db::DeviceIdentity> made_for() const { return std::nullopt; }

  /// Texts of the configs with a cubin for this target of today's kernel hash, by whichever compiler.
  virtual std::set<std::string> stored_configs(const KernelTarget& target) const = 0;
  /// Whether all of these are to be considered for any problem: a bundle has few, and was made so.
  virtual bool is_selection() const { return false; }
};

/// What Catalogue::records() gives, of a database.
std::vector<db::Record> records_to_choose_by(const db::Store& store, const TypePair& type, int sm);

/// The catalogue of an open database. The database must outlive it.
std::unique_ptr<Catalogue> catalogue_of(const db::Store& store);

/// Opens a bundle or a database, told apart by content; a database is opened read-only. Throws db::StoreError (one
/// line: the file, what is wrong with it).
std::unique_ptr<Catalogue> open_catalogue(const std::filesystem::path& path);

/// Offers nothing: problems run what the families' own estimates say.
std::unique_ptr<Catalogue> empty_catalogue();

}  // namespace tilesmith::runtime
