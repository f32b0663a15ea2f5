#include "db/store/rows.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <nlohmann/json.hpp>

#include "db/store/logger.hpp"

namespace tilesmith::db {
namespace {

/// Selects the id of a row, or inserts the row and takes the new id. Both statements take the same values first.
template <typename Bind>
std::int64_t find_or_insert(const Database& database, std::string_view select, std::string_view insert, Bind&& bind) {
  Statement find(database, select);
  bind(find, false);
  if (find.step()) return find.integer("id");
  Statement add(database, insert);
  bind(add, true);
  add.run();
  return database.last_insert_id();
}

/// One text of several, whatever they hold: no two lists give the same.
std::string joined(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) all += fmt::format("{}:{}", part.size(), part);
  return all;
}

std::string params_json(const Config& config) {
  nlohmann::ordered_json params = nlohmann::ordered_json::object();
  for (const Config::Value& value : config.values()) params[value.first.text()] = value.second;
  return params.dump();
}

/// What the view `latest` selects, as a condition.
constexpr const char* kIsLatest =
    "entry.id = (SELECT newer.id FROM records AS newer WHERE newer.problem_id = entry.problem_id "
    "AND newer.device_id = entry.device_id AND newer.config_id = entry.config_id ORDER BY newer.id DESC LIMIT 1)";

}  // namespace

std::int64_t Interner::problem(const Problem& problem) {
  const std::string key = text(problem);
  if (const auto known = problems_.find(key); known != problems_.end()) return known->second;
  const std::int64_t id = find_or_insert(
      *database_, "SELECT id FROM problems WHERE text = ?",
      "INSERT INTO problems (text, type, trans, m, n, k, lda, ldb, ldc, align_bytes, beta, batch, epilogue) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      [&](Statement& statement, bool all) {
        if (!all) return void(statement.bind_all(key));
        statement.bind_all(key, problem.type.name, name(problem.trans), problem.m, problem.n, problem.k, problem.lda,
                           problem.ldb, problem.ldc, problem.align_bytes, name(problem.beta), problem.batch,
                           name(problem.epilogue));
      });
  problems_.emplace(key, id);
  return id;
}

std::int64_t Interner::config(const Config& config) {
  const std::string key = config.text();
  if (const auto known = configs_.find(key); known != configs_.end()) return known->second;
  const std::int64_t id =
      find_or_insert(*database_, "SELECT id FROM configs WHERE text = ?",
                     "INSERT INTO configs (text, family, params) VALUES (?, ?, ?)", [&](Statement& statement, bool all) {
                       if (!all) return void(statement.bind_all(key));
                       statement.bind_all(key, config.family(), params_json(config));
                     });
  configs_.emplace(key, id);
  return id;
}

std::int64_t Interner::device(const DeviceIdentity& device) {
  const std::string key = text(device);
  if (const auto known = devices_.find(key); known != devices_.end()) return known->second;
  const std::int64_t id = find_or_insert(
      *database_, "SELECT id FROM devices WHERE key = ?",
      "INSERT INTO devices (key, name, sm, sm_count, l2_bytes, smem_per_sm_bytes, bandwidth_class_gbps, power_mode) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      [&](Statement& statement, bool all) {
        if (!all) return void(statement.bind_all(key));
        statement.bind_all(key, device.name, device.sm, device.sm_count, device.l2_bytes, device.smem_per_sm_bytes,
                           device.bandwidth_class_gbps, device.power_mode);
      });
  devices_.emplace(key, id);
  return id;
}

std::int64_t Interner::environment(const Environment& environment) {
  const std::string key = joined({environment.compiler_options, environment.nvrtc_version, environment.driver_version,
                                  environment.measuring_policy});
  if (const auto known = environments_.find(key); known != environments_.end()) return known->second;
  const std::int64_t id = find_or_insert(
      *database_,
      "SELECT id FROM environments WHERE compiler_options = ? AND nvrtc_version = ? "
      "AND driver_version = ? AND measuring_policy = ?",
      "INSERT INTO environments (compiler_options, nvrtc_version, driver_version, measuring_policy) VALUES (?, ?, ?, ?)",
      [&](Statement& statement, bool) {
        statement.bind_all(environment.compiler_options, environment.nvrtc_version, environment.driver_version,
                           environment.measuring_policy);
      });
  environments_.emplace(key, id);
  return id;
}

std::int64_t Interner::kernel(const KernelKey& kernel) {
  const std::int64_t config_id = config(kernel.config);
  const std::string key = joined({std::to_string(config_id), text(kernel.signature), kernel.arch, kernel.kernel_hash, kernel.compiler_options, kernel.nvrtc_version});
  if (const auto known = kernels_.find(key); known != kernels_.end()) return known->second;
  const std::int64_t id = find_or_insert(
      *database_,
      "SELECT id FROM kernels WHERE config_id = ? AND signature = ? AND arch = ? AND kernel_hash = ? "
      "AND compiler_options = ? AND nvrtc_version = ?",
      "INSERT INTO kernels (config_id, signature, arch, kernel_hash, compiler_options, nvrtc_version) "
      "VALUES (?, ?, ?, ?, ?, ?)",
      [&](Statement& statement, bool) {
        statement.bind_all(config_id, text(kernel.signature), kernel.arch, kernel.kernel_hash,
                           kernel.compiler_options, kernel.nvrtc_version);
      });
  kernels_.emplace(key, id);
  return id;
}

Statement& Interner::prepared(std::string_view sql) {
  auto known = statements_.find(sql);
  if (known == statements_.end()) known = statements_.emplace(sql, Statement(*database_, sql)).first;
  known->second.clear();
  return known->second;
}

const Problem* Resolver::problem(std::int64_t id) {
  auto known = problems_.find(id);
  if (known == problems_.end()) {
    Statement statement(*database_, "SELECT text FROM problems WHERE id = ?");
    statement.bind_all(id);
    std::optional<Problem> value;
    if (statement.step()) {
      std::string error;
      value = parse_problem(statement.text("text"), error);
      if (!value) logger()->warn("{}: passing over a problem that this program cannot read: {}", database_->label(), error);
    }
    known = problems_.emplace(id, std::move(value)).first;
  }
  return known->second ? &*known->second : nullptr;
}

const Config* Resolver::config(std::int64_t id) {
  auto known = configs_.find(id);
  if (known == configs_.end()) {
    Statement statement(*database_, "SELECT text FROM configs WHERE id = ?");
    statement.bind_all(id);
    std::optional<Config> value;
    if (statement.step()) {
      value = Config::parse(statement.text("text"));
      if (!value) {
        logger()->warn("{}: passing over a config that this program cannot read: {}", database_->label(),
                       statement.text("text"));
      }
    }
    known = configs_.emplace(id, std::move(value)).first;
  }
  return known->second ? &*known->second : nullptr;
}

const DeviceIdentity& Resolver::device(std::int64_t id) {
  if (const auto known = devices_.find(id); known != devices_.end()) return known->second;
  Statement statement(*database_, "SELECT * FROM devices WHERE id = ?");
  statement.bind_all(id);
  return devices_.emplace(id, statement.step() ? read_device(statement) : DeviceIdentity{}).first->second;
}

const Environment& Resolver::environment(std::int64_t id) {
  if (const auto known = environments_.find(id); known != environments_.end()) return known->second;
  Statement row(*database_, "SELECT * FROM environments WHERE id = ?");
  row.bind_all(id);
  Environment environment;
  if (row.step()) {
    environment = {row.text("compiler_options"), row.text("nvrtc_version"), row.text("driver_version"),
                row.text("measuring_policy")};
  }
  return environments_.emplace(id, std::move(environment)).first->second;
}

DeviceIdentity read_device(const Statement& row) {
  DeviceIdentity device;
  device.name = row.text("name");
  device.sm = int(row.integer("sm"));
  device.sm_count = int(row.integer("sm_count"));
  device.l2_bytes = row.integer("l2_bytes");
  device.smem_per_sm_bytes = int(row.integer("smem_per_sm_bytes"));
  device.bandwidth_class_gbps = int(row.integer("bandwidth_class_gbps"));
  device.power_mode = row.text("power_mode");
  return device;
}

std::int64_t insert_record(const Database& database, Interner& interner, const Record& record,
                             std::optional<std::int64_t> id) {
  Statement& statement = interner.prepared(
      "INSERT INTO records (id, problem_id, config_id, device_id, environment_id, status, message, median_us, "
      "spread, samples, clock_mhz, temperature_c, power_w, drift, run, origin, created_at, plan_hash) "
      "VALUES (:id, :problem, :config, :device, :environment, :status, :message, :median_us, :spread, :samples, "
      ":clock_mhz, :temperature_c, :power_w, :drift, :run, :origin, :created_at, :plan_hash)");
  if (id) statement.bind(":id", *id);  // unbound parameters are NULL, and SQLite gives the next
  statement.bind(":problem", interner.problem(record.problem)).bind(":config", interner.config(record.config));
  statement.bind(":device", interner.device(record.device)).bind(":environment", interner.environment(record.environment));
  statement.bind(":status", name(record.outcome.status)).bind(":message", record.outcome.message);
  if (const auto& timing = record.outcome.timing) {
    statement.bind(":median_us", timing->median_us).bind(":spread", timing->spread).bind(":samples", timing->samples);
    statement.bind(":clock_mhz", timing->clock_mhz).bind(":temperature_c", timing->temperature_c);
    statement.bind(":power_w", timing->power_w).bind(":drift", timing->drift);
  }
  statement.bind(":run", record.run).bind(":origin", record.origin).bind(":created_at", record.created_at);
  statement.bind(":plan_hash", record.plan_hash);
  statement.run();
  return database.last_insert_id();
}

std::optional<std::int64_t> find_records(Interner& interner, const Record& record) {
  Statement& statement = interner.prepared(
      "SELECT id FROM records WHERE problem_id = :problem AND device_id = :device AND config_id = :config "
      "AND created_at = :created_at AND plan_hash = :plan_hash AND environment_id = :environment AND status = :status "
      "AND median_us IS :median_us LIMIT 1");
  statement.bind(":problem", interner.problem(record.problem)).bind(":config", interner.config(record.config));
  statement.bind(":device", interner.device(record.device)).bind(":environment", interner.environment(record.environment));
  statement.bind(":created_at", record.created_at).bind(":plan_hash", record.plan_hash);
  statement.bind(":status", name(record.outcome.status));
  if (record.outcome.timing) statement.bind(":median_us", record.outcome.timing->median_us);
  std::optional<std::int64_t> id;
  if (statement.step()) id = statement.integer("id");
  statement.reset();
  return id;
}

std::optional<Record> read_record(const Statement& row, Resolver& resolver) {
  const Problem* problem = resolver.problem(row.integer("problem_id"));
  const Config* config = resolver.config(row.integer("config_id"));
  const auto status = parse_status(row.text("status"));
  if (problem == nullptr || config == nullptr || !status) return std::nullopt;
  Record record;
  record.id = row.integer("id");
  record.problem = *problem;
  record.config = *config;
  record.device = resolver.device(row.integer("device_id"));
  record.environment = resolver.environment(row.integer("environment_id"));
  record.outcome.status = *status;
  record.outcome.message = row.text("message");
  if (*status == Status::ok) {
    record.outcome.timing = Timing{row.real("median_us"), row.real("spread"), int(row.integer("samples")),
                                     row.real("clock_mhz"), row.real("temperature_c"), row.real("power_w"),
                                     row.real("drift")};
  }
  record.run = row.text("run");
  record.origin = row.text("origin");
  record.created_at = row.text("created_at");
  record.plan_hash = row.text("plan_hash");
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
  if (filter.problem) add("problem.text = :problem", ":problem", text(*filter.problem));
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
