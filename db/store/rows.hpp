// Entries as rows: problems, configs, devices and environments kept once each, and records that refer to them by id.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "db/store/fields.hpp"
#include "db/store/sqlite.hpp"
#include "db/store/store.hpp"

namespace tilesmith::db {

/// A row to insert: its columns and their values. A visitor of each_field().
class NewRow {
 public:
  template <typename T>
  NewRow& operator()(const char* column, const T& value) {
    if constexpr (std::is_null_pointer_v<T>) values_.emplace_back(nullptr);
    else if constexpr (std::is_integral_v<T>) values_.emplace_back(std::int64_t(value));
    else if constexpr (std::is_floating_point_v<T>) values_.emplace_back(double(value));
    else values_.emplace_back(std::string(value));
    columns_.emplace_back(column);
    return *this;
  }
  const std::vector<const char*>& columns() const { return columns_; }
  const std::vector<Value>& values() const { return values_; }
  /// Where the row is there already, the new values take the place of the former ones.
  std::string on_conflict_update(const char* key) const;

 private:
  std::vector<const char*> columns_;
  std::vector<Value> values_;
};

/// Gives the row id of a value, inserting it if the database lacks it, and remembers it. Use one within one
/// transaction only: ids of rows that were rolled back must not be remembered.
class Interner {
 public:
  explicit Interner(const Database& database) : database_(&database) {}
  std::int64_t task(const Task& task);
  std::int64_t config(const Config& config);
  std::int64_t device(const DeviceIdentity& device);
  std::int64_t environment(const Environment& environment);
  std::int64_t kernel(const KernelKey& key);

  /// A statement that is prepared once, ready for its values.
  Statement& prepared(const std::string& sql);
  /// Returns the row's id, where the table has one.
  std::int64_t insert(std::string_view table, const NewRow& row, std::string_view on_conflict = "");
  /// The id of a row of these values, NULL among them, if there is any.
  std::optional<std::int64_t> find(std::string_view table, const NewRow& row);

 private:
  std::int64_t id_of(
      std::string_view table, NewRow key, const std::function<void(NewRow&)>& add_rest = [](NewRow&) {});

  const Database* database_;
  std::unordered_map<std::string, std::int64_t> ids_;  // by table and key
  std::unordered_map<std::string, Statement> statements_;
};

/// Looks values up by row id and remembers them. A value that no longer parses (a type pair that this build does not
/// know, ...) is a null pointer, and logged once.
class Resolver {
 public:
  explicit Resolver(const Database& database) : database_(&database) {}
  const Task* task(std::int64_t id);
  const Config* config(std::int64_t id);
  const DeviceIdentity& device(std::int64_t id);
  const Environment& environment(std::int64_t id);

 private:
  Statement& by_id(const char* table);

  const Database* database_;
  std::unordered_map<std::string, Statement> statements_;  // by table
  std::unordered_map<std::int64_t, std::optional<Task>> tasks_;
  std::unordered_map<std::int64_t, std::optional<Config>> configs_;
  std::unordered_map<std::int64_t, DeviceIdentity> devices_;
  std::unordered_map<std::int64_t, Environment> environments_;
};

/// Takes the fields of each_field() from the columns of the current row.
template <typename Struct>
Struct read_fields(const Statement& row, Struct of = {}) {
  each_field(of, [&](const char* column, auto& field) {
    using Field = std::remove_reference_t<decltype(field)>;
    if constexpr (std::is_floating_point_v<Field>) field = row.real(column);
    else if constexpr (std::is_integral_v<Field>) field = Field(row.integer(column));
    else field = row.text(column);
  });
  return of;
}

/// Inserts one entry that record_error() lets through; created_at and origin must be filled in. Returns its id: `id`,
/// which no entry has, or else the next above all others.
std::int64_t insert_row(Interner& interner, const Record& record, std::optional<std::int64_t> id = std::nullopt);

/// The id of the same entry (candidate, device, plan hash, environment, time and outcome), if it is there already; of
/// whichever run, since a replay's run has the entries of others.
std::optional<std::int64_t> find_row(Interner& interner, const Record& record);

/// The entry in the current row of a statement that selects all columns of `records`; nullopt if it names a value that
/// this build cannot read.
std::optional<Record> read_record(const Statement& row, Resolver& resolver);

/// A WHERE condition (never empty) over the aliases of kFromRecords, and its values. It lets through no failure of the
/// machine.
struct Condition {
  std::string sql;
  std::vector<std::pair<std::string, Value>> values;  ///< parameter name, value
  void bind(Statement& statement) const;
};
Condition condition(const RecordFilter& filter);

inline constexpr std::string_view kFromRecords =
    "FROM records AS entry JOIN problems AS problem ON problem.id = entry.problem_id "
    "JOIN configs AS config ON config.id = entry.config_id JOIN devices AS device ON device.id = entry.device_id ";

}  // namespace tilesmith::db
