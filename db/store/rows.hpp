// Entries as rows: problems, configs, devices and environments kept once each, and records that refer to them by id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "db/store/sqlite.hpp"
#include "db/store/store.hpp"

namespace tilesmith::db {

/// Gives the row id of a value, inserting it if the database lacks it, and remembers it. Use one within one
/// transaction only: ids of rows that were rolled back must not be remembered.
class Interner {
 public:
  explicit Interner(const Database& database) : database_(&database) {}
  std::int64_t problem(const Problem& problem);
  std::int64_t config(const Config& config);
  std::int64_t device(const DeviceIdentity& device);
  std::int64_t environment(const Environment& environment);
  std::int64_t kernel(const KernelKey& key);

  /// A statement that is prepared once, ready for its values. The text must outlive this.
  Statement& prepared(std::string_view sql);

 private:
  using Ids = std::unordered_map<std::string, std::int64_t>;
  const Database* database_;
  Ids problems_, configs_, devices_, environments_, kernels_;
  std::unordered_map<std::string_view, Statement> statements_;
};

/// Looks values up by row id and remembers them. A value that no longer parses (a type pair that this build does not
/// know, ...) is a null pointer, and logged once.
class Resolver {
 public:
  explicit Resolver(const Database& database) : database_(&database) {}
  const Problem* problem(std::int64_t id);
  const Config* config(std::int64_t id);
  const DeviceIdentity& device(std::int64_t id);
  const Environment& environment(std::int64_t id);

 private:
  const Database* database_;
  std::unordered_map<std::int64_t, std::optional<Problem>> problems_;
  std::unordered_map<std::int64_t, std::optional<Config>> configs_;
  std::unordered_map<std::int64_t, DeviceIdentity> devices_;
  std::unordered_map<std::int64_t, Environment> environments_;
};

/// Inserts one entry that record_error() lets through; created_at and origin must be filled in. Returns its id: `id`, which no entry
/// has, or else the next above all others.
std::int64_t insert_record(const Database& database, Interner& interner, const Record& record,
                             std::optional<std::int64_t> id = std::nullopt);

/// The id of the same entry (candidate, device, plan hash, environment, time and outcome), if it is there already; of whichever run, since
/// a replay's run has the entries of others.
std::optional<std::int64_t> find_records(Interner& interner, const Record& record);

/// The entry in the current row of a statement that selects all columns of `records`; nullopt if it names a value that
/// this build cannot read.
std::optional<Record> read_record(const Statement& row, Resolver& resolver);

/// A WHERE condition (never empty) over the aliases of kFromRecords, and its values. It lets through no failure of the machine.
struct Condition {
  std::string sql;
  std::vector<std::pair<std::string, Value>> values;  ///< parameter name, value
  void bind(Statement& statement) const;
};
Condition condition(const RecordFilter& filter);

inline constexpr std::string_view kFromRecords =
    "FROM records AS entry JOIN problems AS problem ON problem.id = entry.problem_id "
    "JOIN configs AS config ON config.id = entry.config_id JOIN devices AS device ON device.id = entry.device_id ";

DeviceIdentity read_device(const Statement& row);

}  // namespace tilesmith::db
