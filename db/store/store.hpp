// The store: one SQLite file with devices, problems, configs, cubins, records and tuning runs.
//
// Errors: every function throws StoreError (one line: the file, what was wrong, what was expected) when the database
// cannot be read or written; nothing is then half-written (each public call is one transaction). Writing also throws if
// the file was moved or replaced.
// Threads: a Store is used by one thread at a time. Several Stores, also in several processes, may share a file;
// opening and reading wait up to 30 s for another to let go of it, writing for minutes (kPatience).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "db/store/error.hpp"
#include "db/store/record.hpp"
#include "db/store/vendor_times.hpp"

namespace tilesmith::db {

/// Which records to return. Unset fields match everything.
struct RecordFilter {
  std::optional<std::string> type;  ///< "f16f32"
  std::optional<Transposes> trans;
  std::optional<std::int64_t> m, n, k;
  std::optional<Task> task;  ///< exactly this one
  std::optional<std::string> family;
  std::optional<Config> config;
  std::optional<std::string> device;  ///< the store's devices that meant_by() gives
  std::optional<DeviceIdentity> device_exactly;
  std::optional<int> sm;  ///< devices of this compute capability
  std::optional<Status> status;
  std::optional<std::string> run;
  std::int64_t limit = 0;    ///< 0: all
  bool latest_only = false;  ///< of each candidate on each device only the entry that counts: its latest
};

/// Family, parameter and value, and the id of the first entry that tried it, on any task and device.
using FirstTried = std::map<std::tuple<std::string, std::string, std::int64_t>, std::int64_t>;

struct Run {
  std::int64_t id = 0;  ///< assigned by the store, in the order in which it came to know them
  std::string uuid;
  std::string command;  ///< the command line
  std::string workload;
  std::string strategy;
  std::uint64_t seed = 0;
  std::string host;        ///< empty: this one, when the run begins
  std::string started_at;  ///< ISO 8601 UTC
  std::string ended_at;    ///< empty while running, or if it was killed
  std::string ended_how;   ///< "done", "budget", "interrupted", "failed: ..."
};

class Store {
 public:
  /// Opens, or creates if missing. Refuses a file of another schema version, one that is no Tilesmith database, and a
  /// corrupt one.
  static Store open(const std::filesystem::path& path);
  /// Opens for reading only, and never changes the file; -wal and -shm that it made go with it if no writer has left
  /// entries there. A file that may not be written, without a writer's files, is read without locks, and opened anew
  /// once it has changed. Refuses what open() refuses, and a missing file.
  static Store open_read_only(const std::filesystem::path& path);
  static Store in_memory();
  /// Another connection to the same file, for reading on another thread: it sees what was committed. Nothing of a store
  /// in memory, which has one connection.
  std::optional<Store> reader() const;

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  const std::filesystem::path& path() const;
  bool read_only() const;

  /// How long writing waits while others do, as in a large merge, before it throws.
  static constexpr std::chrono::minutes kPatience{10};
  void set_patience(std::chrono::milliseconds patience);

  /// Commits one outcome. `record.id` is ignored; empty created_at and origin are filled in. Returns the new id.
  /// Throws std::logic_error if the entry contradicts itself (ok without a finite positive time, a failure with one,
  /// ...).
  std::int64_t record(const Record& record);
  /// Commits several at once, in their order: all of them or, where it throws, none.
  void record(std::span<const Record> several);
  /// Latest first.
  std::vector<Record> records(const RecordFilter& filter = {}) const;

  /// Every value that some entry's config has.
  FirstTried first_tried() const;

  /// The id of the entry recorded last, 0 if there is none: later ones have higher ids, whatever their created_at.
  std::int64_t last_entry() const;
  /// The tasks of the entries with higher ids, each once.
  std::vector<Task> tasks_since(std::int64_t entry) const;

  /// Keeps a compiled kernel (content-addressed, zstd). An equal key replaces the former entry.
  void record_build(const KernelBuild& build);
  /// With its cubin, checked against its content hash (a corrupt one is treated as missing and logged).
  std::optional<KernelBuild> find_build(const KernelKey& key) const;
  /// Texts of the configs that have a cubin for this signature and architecture, by whichever NVRTC; `is_today`:
  /// whether this is the config's kernel hash today.
  std::set<std::string> stored_configs(const std::string& signature, const std::string& arch,
      const std::function<bool(const Config& config, const std::string& hash)>& is_today) const;
  /// The newest build by any NVRTC version that `serves`; a spilled one if there is no other. For runtimes without
  /// NVRTC.
  std::optional<KernelBuild> find_build_any_compiler(const Config& config, const std::string& signature,
      const std::string& arch, const std::string& kernel_hash,
      const std::function<bool(const std::string& nvrtc_version)>& serves = {}) const;

  /// The suite's verdict on a compiled kernel on a device, so that a resumed run does not repeat it.
  struct Proof {
    KernelKey key;
    DeviceIdentity device;
    std::string driver_version;
    std::string suite;  ///< version of the suite: "suite-2"
    Outcome outcome;
  };
  void record_proof(const Proof& proof);  ///< throws std::logic_error if the outcome is the machine's
  std::optional<Outcome> find_proof(const KernelKey& key, const DeviceIdentity& device,
      const std::string& driver_version, const std::string& suite) const;

  /// Commits a row. `times.id` is ignored; empty created_at and origin are filled in. Returns the new id. Throws
  /// std::logic_error if it contradicts itself (vendor_times_error).
  std::int64_t record_vendor(const VendorTimes& times);
  /// Latest first. Of the filter type, trans, m, n, k, problem, device, device_exactly, sm, run and limit count.
  std::vector<VendorTimes> vendor_times(const RecordFilter& filter = {}) const;

  void begin_run(const Run& run);
  void end_run(const std::string& uuid, const std::string& how);
  std::vector<Run> runs() const;  ///< the one begun last first
  std::vector<DeviceIdentity> devices() const;

  /// PRAGMA integrity_check and foreign_key_check; empty if sound, else the first complaint.
  std::string integrity_error() const;

 private:
  friend class StoreAccess;  // merge, import and export live in files of their own (db/store/store_access.hpp)
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// As Store::records(), but the fastest first; entries without a time come last.
std::vector<Record> fastest_first(const Store& store, const RecordFilter& filter);

/// A fresh random UUID (version 4).
std::string new_uuid();
/// A time in milliseconds since 1970 as ISO 8601 UTC, "2026-01-31T23:59:59.123Z", and back; nullopt if it has another form
/// than normalized_utc() takes.
std::string utc_text(std::int64_t milliseconds);
std::optional<std::int64_t> utc_milliseconds(std::string_view text);
/// Now, in that form.
std::string now_utc();

}  // namespace tilesmith::db
