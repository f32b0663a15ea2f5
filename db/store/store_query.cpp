// What a store answers of its records.
#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "db/store/store.hpp"
#include "db/store/store_access.hpp"

namespace tilesmith::db {
namespace {

constexpr std::string_view kLatestFirst = "entry.id DESC";
constexpr std::string_view kFastestFirst = "entry.median_us IS NULL, entry.median_us, entry.id";

std::vector<Record> records_of(const Database& database, const RecordFilter& filter, std::string_view order) {
  return read_unchanged(database, [&] {
    const Transaction snapshot(database, Transaction::Kind::read);
    const Condition wanted = condition(filter);
    std::string sql = fmt::format("SELECT entry.* {} WHERE {} ORDER BY {}", kFromRecords, wanted.sql, order);
    if (filter.limit > 0) sql += " LIMIT :limit";
    Statement row(database, sql);
    wanted.bind(row);
    if (filter.limit > 0) row.bind(":limit", filter.limit);
    Resolver resolver(database);
    std::vector<Record> all;
    while (row.step()) {
      if (auto entry = read_record(row, resolver)) all.push_back(*std::move(entry));
    }
    return all;
  });
}

}  // namespace

void for_each_record(const Database& database, const std::function<void(const Record&)>& use) {
  Statement row(database, "SELECT * FROM records ORDER BY id");
  Resolver resolver(database);
  while (row.step()) {
    if (const auto entry = read_record(row, resolver)) use(*entry);
  }
}

std::vector<Record> Store::records(const RecordFilter& filter) const {
  return records_of(impl_->database, filter, kLatestFirst);
}

std::vector<Record> fastest_first(const Store& store, const RecordFilter& filter) {
  return records_of(StoreAccess::database(store), filter, kFastestFirst);
}

FirstTried Store::first_tried() const {
  return read_unchanged(impl_->database, [&] {
    Statement row(impl_->database,
        "SELECT config.family, parameter.key AS parameter, parameter.value, min(first_entry) AS first_entry "
        "FROM (SELECT config_id, min(id) AS first_entry FROM records GROUP BY config_id) "
        "JOIN configs AS config ON config.id = config_id, json_each(config.params) AS parameter "
        "GROUP BY config.family, parameter.key, parameter.value");
    FirstTried values;
    while (row.step())
      values[{row.text("family"), row.text("parameter"), row.integer("value")}] = row.integer("first_entry");
    return values;
  });
}

std::int64_t Store::last_entry() const {
  return read_unchanged(impl_->database, [&] {
    Statement row(impl_->database, "SELECT coalesce(max(id), 0) AS last FROM records");
    row.step();
    return row.integer("last");
  });
}

std::vector<Task> Store::tasks_since(std::int64_t entry) const {
  return read_unchanged(impl_->database, [&] {
    // By row id: the index that has all the columns asked for would be read from end to end.
    Statement row(
        impl_->database, "SELECT DISTINCT problem_id FROM records NOT INDEXED WHERE id > :entry ORDER BY problem_id");
    row.bind(":entry", entry);
    Resolver resolver(impl_->database);
    std::vector<Task> tasks;
    while (row.step()) {
      if (const Task* task = resolver.task(row.integer("problem_id"))) tasks.push_back(*task);
    }
    return tasks;
  });
}

}  // namespace tilesmith::db
