#include "db/store/rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "db/store/logger.hpp"

namespace tilesmith::db {
namespace {

std::string params_json(const Config& config) {
  nlohmann::ordered_json params = nlohmann::ordered_json::object();
  for (const Config::Value& value : config.values()) params[value.first.text()] = value.second;
  return params.dump();
}

/// What the view `latest` selects, as a condition.
constexpr const char* kIsLatest =
    "entry.id = (SELECT newer.id FROM records AS newer WHERE newer.problem_id = entry.problem_id "
    "AND newer.device_id = entry.device_id AND newer.config_id = entry.config_id ORDER BY newer.id DESC LIMIT 1)";

void bind_in_order(Statement& statement, const std::vector<Value>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) statement.bind(int(i) + 1, values[i]);
}

/// What `read` makes of the row of this id; from the second time on, what it made.
template <typename T, typename Read>
const T& looked_up(std::unordered_map<std::int64_t, T>& known, Statement& row, std::int64_t id, Read&& read) {
  if (const auto found = known.find(id); found != known.end()) return found->second;
  row.clear();
  row.bind_all(id);
  const T& value = known.emplace(id, row.step() ? read(row) : T{}).first->second;
  row.reset();
  return value;
}

/// The columns by which an entry is known: candidate, device and how it was measured.
NewRow identity_of(Interner& interner, const Record& record) {
  NewRow row;
  row("problem_id", interner.task(record.task))("config_id", interner.config(record.config));
  row("device_id", interner.device(record.device))("environment_id", interner.environment(record.environment));
  row("status", name(record.outcome.status));
  return row;
}

}  // namespace

std::string NewRow::on_conflict_update(const char* key) const {
  std::vector<std::string> updates;
  for (const char* column : columns_) updates.push_back(fmt::format("{0} = excluded.{0}", column));
  return fmt::format("ON CONFLICT ({}) DO UPDATE SET {}", key, fmt::join(updates, ", "));
}

Statement& Interner::prepared(const std::string& sql) {
  auto known = statements_.find(sql);
  if (known == statements_.end()) known = statements_.emplace(sql, Statement(*database_, sql)).first;
  known->second.clear();
  return known->second;
}

std::int64_t Interner::insert(std::string_view table, const NewRow& row, std::string_view on_conflict) {
  const std::vector<const char*> marks(row.values().size(), "?");
  Statement& statement = prepared(fmt::format("INSERT INTO {} ({}) VALUES ({}) {}", table,
      fmt::join(row.columns(), ", "), fmt::join(marks, ", "), on_conflict));
  bind_in_order(statement, row.values());
  statement.run();
  return database_->last_insert_id();
}

std::optional<std::int64_t> Interner::find(std::string_view table, const NewRow& row) {
  Statement& statement =
      prepared(fmt::format("SELECT id FROM {} WHERE {} IS ? LIMIT 1", table, fmt::join(row.columns(), " IS ? AND ")));
  bind_in_order(statement, row.values());
  std::optional<std::int64_t> id;
  if (statement.step()) id = statement.integer("id");
  statement.reset();
  return id;
}

std::int64_t Interner::id_of(std::string_view table, NewRow key, const std::function<void(NewRow&)>& add_rest) {
  std::string name(table);  // no two keys give the same
  for (const Value& value : key.values()) {
    const auto* text = std::get_if<std::string>(&value);
    const std::string part = text != nullptr ? *text : std::to_string(std::get<std::int64_t>(value));
    name += fmt::format(" {}:{}", part.size(), part);
  }
  if (const auto known = ids_.find(name); known != ids_.end()) return known->second;
  std::optional<std::int64_t> id = find(table, key);
  if (!id) {
    add_rest(key);
    id = insert(table, key);
  }
  return ids_.emplace(std::move(name), *id).first->second;
}

std::int64_t Interner::task(const Task& task) {
  return id_of("problems", NewRow()("text", text(task)), [&](NewRow& row) {
    if (!task.is_gemm()) {
      row("type", "kernel")("trans", "")("m", 0)("n", 0)("k", 0)("lda", 0)("ldb", 0)("ldc", 0)("align_bytes", 0);
      row("beta", "")("batch", 0)("epilogue", "");
      return;
    }
    const Problem& problem = task.problem();
    row("type", problem.type.name)("trans", name(problem.trans))("m", problem.m)("n", problem.n)("k", problem.k);
    row("lda", problem.lda)("ldb", problem.ldb)("ldc", problem.ldc)("align_bytes", problem.align_bytes);
    row("beta", name(problem.beta))("batch", problem.batch)("epilogue", name(problem.epilogue));
  });
}

std::int64_t Interner::config(const Config& config) {
  return id_of("configs", NewRow()("text", config.text()),
      [&](NewRow& row) { row("family", config.family())("params", params_json(config)); });
}

std::int64_t Interner::device(const DeviceIdentity& device) {
  return id_of("devices", NewRow()("key", text(device)), [&](NewRow& row) { each_field(device, row); });
}

std::int64_t Interner::environment(const Environment& environment) {
  NewRow row;
  each_field(environment, row);
  return id_of("environments", std::move(row));
}

std::int64_t Interner::kernel(const KernelKey& kernel) {
  NewRow row;
  row("config_id", config(kernel.config))("signature", kernel.signature);
  each_field(kernel, row);
  return id_of("kernels", std::move(row));
}

Statement& Resolver::by_id(const char* table) {
  auto known = statements_.find(table);
  if (known == statements_.end())
    known =
        statements_.emplace(table, Statement(*database_, fmt::format("SELECT * FROM {} WHERE id = ?", table))).first;
  return known->second;
}

const Task* Resolver::task(std::int64_t id) {
  const auto& found = looked_up(tasks_, by_id("problems"), id, [&](const Statement& row) {
    std::string error;
    auto value = parse_task(row.text("text"), error);
    if (!value) logger()->warn("{}: passing over a task that this program cannot read: {}", database_->label(), error);
    return value;
  });
  return found ? &*found : nullptr;
}

const Config* Resolver::config(std::int64_t id) {
  const auto& found = looked_up(configs_, by_id("configs"), id, [&](const Statement& row) {
    auto value = Config::parse(row.text("text"));
    if (!value)
      logger()->warn(
          "{}: passing over a config that this program cannot read: {}", database_->label(), row.text("text"));
    return value;
  });
  return found ? &*found : nullptr;
}

const DeviceIdentity& Resolver::device(std::int64_t id) {
  return looked_up(
      devices_, by_id("devices"), id, [](const Statement& row) { return read_fields<DeviceIdentity>(row); });
}

const Environment& Resolver::environment(std::int64_t id) {
  return looked_up(
      environments_, by_id("environments"), id, [](const Statement& row) { return read_fields<Environment>(row); });
}

std::int64_t insert_row(Interner& interner, const Record& record, std::optional<std::int64_t> id) {
  NewRow row = identity_of(interner, record);
  if (id) row("id", *id);
  row("message", record.outcome.message);
  if (record.outcome.timing) each_field(*record.outcome.timing, row);
  each_field(record, row);
  return interner.insert("records", row);
}

std::optional<std::int64_t> find_row(Interner& interner, const Record& record) {
  NewRow row = identity_of(interner, record);
  row("created_at", record.created_at)("plan_hash", record.plan_hash);
  if (record.outcome.timing) row("median_us", record.outcome.timing->median_us);
  else row("median_us", nullptr);
  return interner.find("records", row);
}

std::optional<Record> read_record(const Statement& row, Resolver& resolver) {
  const Task* task = resolver.task(row.integer("problem_id"));
  const Config* config = resolver.config(row.integer("config_id"));
  const auto status = parse_status(row.text("status"));
  if (task == nullptr || config == nullptr || !status) return std::nullopt;
  Record record = read_fields<Record>(row);
  record.id = row.integer("id");
  record.task = *task;
  record.config = *config;
  record.device = resolver.device(row.integer("device_id"));
  record.environment = resolver.environment(row.integer("environment_id"));
  record.outcome = {*status, row.text("message"), std::nullopt};
  if (*status == Status::ok) record.outcome.timing = read_fields<Timing>(row);
  return record;
}

void Condition::bind(Statement& statement) const {
  for (const auto& [parameter, value] : values) statement.bind(parameter.c_str(), value);
}

Condition condition(const RecordFilter& filter) {
  Condition result{filter.latest_only ? kIsLatest : "true", {}};
  const auto add = [&](std::string_view sql, const char* parameter, Value value) {
    result.sql += fmt::format(" AND {}", sql);
    result.values.emplace_back(parameter, std::move(value));
  };
  if (filter.type) add("problem.type = :type", ":type", *filter.type);
  if (filter.trans) add("problem.trans = :trans", ":trans", std::string(name(*filter.trans)));
  if (filter.m) add("problem.m = :m", ":m", *filter.m);
  if (filter.n) add("problem.n = :n", ":n", *filter.n);
  if (filter.k) add("problem.k = :k", ":k", *filter.k);
  if (filter.task) add("problem.text = :task", ":task", text(*filter.task));
  if (filter.family) add("config.family = :family", ":family", *filter.family);
  if (filter.config) add("config.text = :config", ":config", filter.config->text());
  if (filter.device) {  // meant_by(), in SQL
    add("(lower(device.key) = lower(:device) OR NOT EXISTS (SELECT 1 FROM devices AS named WHERE lower(named.key) = lower(:device)) AND "
        "instr(lower(device.key), lower(:device)) > 0 AND (instr(device.name, ' as sm_') = 0 OR instr(lower(:device), 'as sm_') > 0))",
        ":device", *filter.device);
  }
  if (filter.device_exactly) add("device.key = :device_key", ":device_key", text(*filter.device_exactly));
  if (filter.sm) add("device.sm = :sm", ":sm", std::int64_t(*filter.sm));
  if (filter.status) add("entry.status = :status", ":status", std::string(name(*filter.status)));
  if (filter.run) add("entry.run = :run", ":run", *filter.run);
  return result;
}

}  // namespace tilesmith::db
