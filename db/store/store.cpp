#include "db/store/store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "db/store/open.hpp"
#include "db/store/store_access.hpp"

namespace tilesmith::db {
namespace {

constexpr const char* kInMemory = ":memory:";

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

std::string one_line(std::string text) {
  std::replace_if(text.begin(), text.end(), &is_control_character, ' ');
  return text;
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "unknown host";
  return one_line(name);
}

/// Who reads meanwhile leaves the log as it is, and the file alone would lack what is in there until there is a next
/// writer.
Store::Impl::~Impl() {
  if (!read_only) database.write_log_back();
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Store Store::open(const std::filesystem::path& path) {
  Store store(std::unique_ptr<Impl>(new Impl{path, false, open_for_writing(path)}));
  store.set_patience(kPatience);
  return store;
}

Store Store::open_read_only(const std::filesystem::path& path) {
  return Store(std::unique_ptr<Impl>(new Impl{path, true, open_for_reading(path)}));
}

Store Store::in_memory() { return Store(std::unique_ptr<Impl>(new Impl{kInMemory, false, db::open_in_memory()})); }

std::optional<Store> Store::reader() const {
  if (impl_->path == kInMemory) return std::nullopt;
  return open_read_only(impl_->path);
}

const std::filesystem::path& Store::path() const { return impl_->path; }
bool Store::read_only() const { return impl_->read_only; }
void Store::set_patience(std::chrono::milliseconds patience) { impl_->database.set_patience(patience); }

Record completed(const Record& record) {
  if (const auto wrong = record_error(record)) {
    throw std::logic_error(fmt::format("records for '{}' is inconsistent: {}", text(record.task), *wrong));
  }
  Record entry = record;
  if (entry.created_at.empty()) entry.created_at = now_utc();
  else entry.created_at = *normalized_utc(entry.created_at);
  if (entry.origin.empty()) entry.origin = host_name();
  // A compiler's or another machine's words: what would break the line, or speak to a terminal, goes.
  for (std::string* words : {&entry.outcome.message, &entry.run, &entry.origin}) *words = one_line(std::move(*words));
  return entry;
}

std::int64_t Store::record(const Record& record) {
  Transaction transaction(impl_->database);
  const Record entry = completed(record);
  Interner interner(impl_->database);
  const std::int64_t id = insert_row(interner, entry);
  transaction.commit();
  return id;
}

void Store::record(std::span<const Record> several) {
  Transaction transaction(impl_->database);
  Interner interner(impl_->database);
  for (const Record& record : several) insert_row(interner, completed(record));
  transaction.commit();
}

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

void insert_run(Interner& interner, const Run& run, OnKnown on_known) {
  NewRow row;
  each_field(run, row);
  row("seed", std::to_string(run.seed));
  // Not REPLACE: a run that is begun again keeps its row id.
  interner.insert(
      "runs", row, on_known == OnKnown::keep ? "ON CONFLICT (uuid) DO NOTHING" : row.on_conflict_update("uuid"));
}

void Store::begin_run(const Run& run) {
  Run entry = run;
  if (entry.uuid.empty()) throw std::logic_error("a run has no uuid: expected new_uuid()");
  if (entry.started_at.empty()) entry.started_at = now_utc();
  if (entry.host.empty()) entry.host = host_name();
  Transaction transaction(impl_->database);
  Interner interner(impl_->database);
  insert_run(interner, entry, OnKnown::replace);
  transaction.commit();
}

void Store::end_run(const std::string& uuid, const std::string& how) {
  Transaction transaction(impl_->database);
  Statement statement(impl_->database, "UPDATE runs SET ended_at = ?, ended_how = ? WHERE uuid = ?");
  statement.bind_all(now_utc(), how, uuid).run();
  if (impl_->database.changes() == 0) throw std::logic_error(fmt::format("end_run: no run {} was begun", uuid));
  transaction.commit();
}

std::vector<Run> Store::runs() const {
  return read_unchanged(impl_->database, [&] {
    Statement row(impl_->database, "SELECT * FROM runs ORDER BY id DESC");
    std::vector<Run> all;
    while (row.step()) {
      Run run = read_fields<Run>(row);
      run.id = row.integer("id");
      run.seed = std::strtoull(row.text("seed").c_str(), nullptr, 10);
      all.push_back(std::move(run));
    }
    return all;
  });
}

std::vector<DeviceIdentity> Store::devices() const {
  return read_unchanged(impl_->database, [&] {
    Statement row(impl_->database, "SELECT * FROM devices ORDER BY key");
    std::vector<DeviceIdentity> all;
    while (row.step()) all.push_back(read_fields<DeviceIdentity>(row));
    return all;
  });
}

std::string Store::integrity_error() const {
  Statement check(impl_->database, "PRAGMA integrity_check(1)");
  if (check.step()) {
    if (const std::string verdict = check.text("integrity_check"); verdict != "ok") return verdict;
  }
  Statement references(impl_->database, "PRAGMA foreign_key_check");
  if (references.step()) {
    return fmt::format("row {} of {} refers to a missing row of {}", references.integer("rowid"),
        references.text("table"), references.text("parent"));
  }
  return {};
}

}  // namespace tilesmith::db
