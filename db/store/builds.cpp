// Compiled kernels and their proofs in the store.
#include <fmt/format.h>

#include <stdexcept>

#include "db/files/compress.hpp"
#include "db/store/logger.hpp"
#include "db/store/store_access.hpp"

namespace tilesmith::db {
namespace {

constexpr std::size_t kLargestCubinBytes = std::size_t{256} << 20;

/// Of `one`, which is a build or a proof, and its kernel.
constexpr const char* kSelect =
    "SELECT one.*, config.text AS config, kernel.signature, kernel.arch, kernel.kernel_hash, kernel.compiler_options, "
    "kernel.nvrtc_version FROM {} AS one JOIN kernels AS kernel ON kernel.id = one.kernel_id "
    "JOIN configs AS config ON config.id = kernel.config_id {}";
constexpr const char* kIsKernel =
    "WHERE config.text = :config AND kernel.signature = :signature AND kernel.arch = :arch "
    "AND kernel.kernel_hash = :hash ";
constexpr const char* kIsOfCompiler = "AND kernel.compiler_options = :options AND kernel.nvrtc_version = :nvrtc ";

void bind_kernel(Statement& row, const Config& config, const std::string& signature, const std::string& arch,
    const std::string& hash) {
  row.bind(":config", config.text()).bind(":signature", signature).bind(":arch", arch).bind(":hash", hash);
}
void bind_key(Statement& row, const KernelKey& key) {
  bind_kernel(row, key.config, key.signature, key.arch, key.kernel_hash);
  row.bind(":options", key.compiler_options).bind(":nvrtc", key.nvrtc_version);
}

/// The columns of a kernel's key; nullopt if this program cannot read them.
std::optional<KernelKey> read_key(const Statement& row) {
  const auto config = Config::parse(row.text("config"));
  if (!config) return std::nullopt;
  KernelKey key;
  key.config = *config;
  key.signature = row.text("signature");
  return read_fields(row, std::move(key));
}

/// A cubin by its hash, and the frame that it is kept in; nullopt, logged, if it is missing or its bytes are not those
/// that were stored.
std::optional<std::vector<std::byte>> load_cubin(
    const Database& database, const std::string& hash, std::vector<std::byte>& frame) {
  Statement statement(database, "SELECT data FROM cubins WHERE hash = ?");
  statement.bind_all(hash);
  std::optional<std::vector<std::byte>> cubin;
  if (statement.step()) {
    frame = statement.blob("data");
    cubin = decompress(frame, kLargestCubinBytes);
  }
  if (cubin && content_hash(*cubin) == hash) return cubin;
  logger()->warn("{}: cubin {} is corrupt or missing: its kernel will be compiled again", database.label(), hash);
  return std::nullopt;
}

/// Such a build has one, and no other does.
bool has_cubin(Status status) { return status == Status::ok || status == Status::spilled; }

std::optional<PackedBuild> read_packed_build(const Database& database, const Statement& row) {
  auto key = read_key(row);
  const auto status = parse_status(row.text("status"));
  if (!key || !status) return std::nullopt;
  PackedBuild packed{read_fields<KernelBuild>(row), row.text("created_at"), {}};
  KernelBuild& build = packed.build;
  build.key = *std::move(key);
  build.status = *status;
  build.message = row.text("message");
  if (!row.is_null("cubin_hash")) {
    auto cubin = load_cubin(database, row.text("cubin_hash"), packed.frame);
    if (!cubin) return std::nullopt;
    build.cubin = *std::move(cubin);
  }
  if (has_cubin(build.status) == build.cubin.empty()) {  // nothing of ours writes such a row
    logger()->warn("{}: the kernel of {} is {} {} a cubin: it will be compiled again", database.label(),
        build.key.config.text(), name(build.status), build.cubin.empty() ? "without" : "with");
    return std::nullopt;
  }
  return packed;
}

std::optional<KernelBuild> read_build(const Database& database, const Statement& row) {
  auto packed = read_packed_build(database, row);
  if (!packed) return std::nullopt;
  return std::move(packed->build);
}

void remove_if_unused(const Database& database, const std::string& cubin_hash) {
  Statement(database, "DELETE FROM cubins WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM builds WHERE cubin_hash = ?1)")
      .bind_all(cubin_hash)
      .run();
}

void check_build(const KernelBuild& build) {
  if (!has_cubin(build.status) && build.status != Status::compile_failed) {
    throw std::logic_error(
        fmt::format("a build has status {}: expected ok, compile_failed or spilled", name(build.status)));
  }
  if (has_cubin(build.status) == build.cubin.empty()) {
    throw std::logic_error(
        fmt::format("a build with status {} has a cubin of {} bytes: expected one exactly with ok or "
                    "spilled",
            name(build.status), build.cubin.size()));
  }
}

/// `frame`: of the cubin; empty: to be made.
std::string store_cubin(
    const Database& database, const std::vector<std::byte>& cubin, const std::vector<std::byte>& frame) {
  const std::string hash = content_hash(cubin);
  Statement known(database, "SELECT data FROM cubins WHERE hash = ?");
  known.bind_all(hash);
  if (known.step()) {
    const auto stored = decompress(known.blob("data"), kLargestCubinBytes);
    if (stored && *stored == cubin) return hash;
  }
  // New, or stored bytes that have rotted: these are the right ones.
  Statement(database,
      "INSERT INTO cubins (hash, bytes, data) VALUES (?, ?, ?) ON CONFLICT (hash) DO UPDATE SET "
      "bytes = excluded.bytes, data = excluded.data")
      .bind_all(hash, cubin.size(), frame.empty() ? compress(cubin) : frame)
      .run();
  return hash;
}

}  // namespace

bool insert_build(const Database& database, Interner& interner, const PackedBuild& packed, OnKnown on_known) {
  const KernelBuild& build = packed.build;
  check_build(build);
  const std::int64_t kernel = interner.kernel(build.key);
  std::string former_cubin;
  Statement known(database, "SELECT cubin_hash FROM builds WHERE kernel_id = ?");
  known.bind_all(kernel);
  if (known.step()) {
    if (on_known == OnKnown::keep) return false;
    former_cubin = known.text("cubin_hash");
  }
  known.reset();

  const std::string cubin = build.cubin.empty() ? std::string() : store_cubin(database, build.cubin, packed.frame);
  NewRow row;
  row("kernel_id", kernel)("status", name(build.status))("message", build.message)("created_at", packed.created_at);
  each_field(build, row);
  cubin.empty() ? row("cubin_hash", nullptr) : row("cubin_hash", cubin);
  interner.insert("builds", row, row.on_conflict_update("kernel_id"));
  if (!former_cubin.empty() && former_cubin != cubin) remove_if_unused(database, former_cubin);
  return true;
}

void for_each_build(const Database& database, const std::function<void(const PackedBuild&)>& use) {
  Statement row(database, fmt::format(kSelect, "builds", "ORDER BY one.kernel_id"));
  while (row.step()) {
    if (const auto packed = read_packed_build(database, row)) use(*packed);
  }
}

void Store::record_build(const KernelBuild& build) {
  Transaction transaction(impl_->database);
  Interner interner(impl_->database);
  insert_build(impl_->database, interner, {build, now_utc(), {}}, OnKnown::replace);
  transaction.commit();
}

std::optional<KernelBuild> Store::find_build(const KernelKey& key) const {
  return read_unchanged(impl_->database, [&]() -> std::optional<KernelBuild> {
    Statement row(impl_->database, fmt::format(kSelect, "builds", fmt::format("{}{}", kIsKernel, kIsOfCompiler)));
    bind_key(row, key);
    if (!row.step()) return std::nullopt;
    return read_build(impl_->database, row);
  });
}

std::optional<KernelBuild> Store::find_build_any_compiler(const Config& config, const std::string& signature,
    const std::string& arch, const std::string& kernel_hash,
    const std::function<bool(const std::string&)>& serves) const {
  return read_unchanged(impl_->database, [&]() -> std::optional<KernelBuild> {
    const std::string wanted = fmt::format(
        "{}AND one.status IN ('ok', 'spilled') ORDER BY one.status = 'ok' DESC, one.kernel_id DESC", kIsKernel);
    Statement row(impl_->database, fmt::format(kSelect, "builds", wanted));
    bind_kernel(row, config, signature, arch, kernel_hash);
    while (row.step()) {
      if (serves && !serves(row.text("nvrtc_version"))) continue;
      if (auto build = read_build(impl_->database, row)) return build;  // a corrupt one: the next newest
    }
    return std::nullopt;
  });
}

std::set<std::string> Store::stored_configs(const std::string& signature, const std::string& arch,
    const std::function<bool(const Config&, const std::string&)>& is_today) const {
  return read_unchanged(impl_->database, [&] {
    std::set<std::string> found;
    Statement row(impl_->database,
        "SELECT config.text AS config, kernel.kernel_hash AS hash FROM kernels AS kernel "
        "JOIN configs AS config ON config.id = kernel.config_id JOIN builds AS build ON build.kernel_id = kernel.id "
        "WHERE kernel.signature = :signature AND kernel.arch = :arch AND build.cubin_hash IS NOT NULL "
        "AND build.status IN ('ok', 'spilled')");
    row.bind(":signature", signature).bind(":arch", arch);
    while (row.step()) {
      const auto config = Config::parse(row.text("config"));
      if (config && is_today(*config, row.text("hash"))) found.insert(row.text("config"));
    }
    return found;
  });
}

void insert_proof(Interner& interner, const Store::Proof& proof, const std::string& created_at, OnKnown on_known) {
  NewRow row;
  row("kernel_id", interner.kernel(proof.key))("device_id", interner.device(proof.device));
  row("driver_version", proof.driver_version)("suite", proof.suite);
  row("status", name(proof.outcome.status))("message", proof.outcome.message)("created_at", created_at);
  const std::string replace = row.on_conflict_update("kernel_id, device_id, driver_version, suite");
  interner.insert("proofs", row, on_known == OnKnown::keep ? "ON CONFLICT DO NOTHING" : replace);
}

void for_each_proof(
    const Database& database, const std::function<void(const Store::Proof&, const std::string& created_at)>& use) {
  Resolver resolver(database);
  Statement row(database, fmt::format(kSelect, "proofs", ""));
  while (row.step()) {
    const auto key = read_key(row);
    const auto status = parse_status(row.text("status"));
    if (!key || !status) continue;
    use({*key, resolver.device(row.integer("device_id")), row.text("driver_version"), row.text("suite"),
            {*status, row.text("message"), std::nullopt}},
        row.text("created_at"));
  }
}

void Store::record_proof(const Proof& proof) {
  if (proof.outcome.by_machine) throw std::logic_error("by_machine is set of a proof: expected a kernel's own outcome");
  Transaction transaction(impl_->database);
  Interner interner(impl_->database);
  insert_proof(interner, proof, now_utc(), OnKnown::replace);
  transaction.commit();
}

std::optional<Outcome> Store::find_proof(const KernelKey& key, const DeviceIdentity& device,
    const std::string& driver_version, const std::string& suite) const {
  return read_unchanged(impl_->database, [&]() -> std::optional<Outcome> {
    const std::string wanted = fmt::format(
        "JOIN devices AS device ON device.id = one.device_id {}{}AND device.key = :device AND one.driver_version = "
        ":driver AND one.suite = :suite",
        kIsKernel, kIsOfCompiler);
    Statement row(impl_->database, fmt::format(kSelect, "proofs", wanted));
    bind_key(row, key);
    row.bind(":device", text(device)).bind(":driver", driver_version).bind(":suite", suite);
    if (!row.step()) return std::nullopt;
    const auto status = parse_status(row.text("status"));
    if (!status) return std::nullopt;
    return Outcome{*status, row.text("message"), std::nullopt};
  });
}

}  // namespace tilesmith::db
