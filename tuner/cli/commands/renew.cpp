// tilesmith renew: after an upgrade, how many records stand, and how far; and what of it is carried over to new hashes.
#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "db/exchange/export.hpp"
#include "db/exchange/record_json.hpp"
#include "db/files/files.hpp"
#include "db/store/renewed_hashes.hpp"
#include "kernels/base/on_all_cores.hpp"
#include "kernels/families/plan_hash.hpp"
#include "runtime/compile/compiler.hpp"
#include "tuner/bests/bests_today.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/cli/output/progress.hpp"
#include "tuner/cli/output/signals.hpp"
#include "tuner/figures.hpp"

namespace tilesmith::tuner {
namespace {

struct RenewOptions {
  std::string device, db;
  std::string by, plans_to;  // a table of hashes; a folder
  std::int64_t sample = 1;
};

/// "2 of 3 candidates stand: 1 valid, 1 reverify, 0 remeasure; 1 retired".
std::string counts_text(const TrustCounts& counts) {
  const auto number = [&](db::Trust trust) { return counts.contains(trust) ? counts.at(trust) : 0; };
  const auto shown = [](std::size_t count) { return format_count(count); };
  using enum db::Trust;
  const std::size_t stand = number(valid) + number(reverify) + number(remeasure);
  return fmt::format("{} of {} stand: {} valid, {} reverify, {} remeasure; {} retired", shown(stand),
      count_of(stand + number(retired), "candidate"), shown(number(valid)), shown(number(reverify)),
      shown(number(remeasure)), shown(number(retired)));
}

int renew_by(const std::filesystem::path& path, const std::string& table) {
  db::RenewedHashes hashes;
  try {
    hashes = db::parse_renewed_hashes(db::read_file(table, "a table that scripts/same_code.sh wrote"));
  } catch (const db::FormatError& error) {
    throw UsageError(fmt::format("--by {}: {}", table, error.what()));
  }
  db::Store store = db::Store::open(path);
  const db::RenewedRows rows = db::renew(store, hashes);
  write_result(fmt::format("new hashes: {} of records, {}\n", format_count(rows.entries),
      count_of(std::size_t(rows.kernels), "stored kernel")));
  return kExitOk;
}

/// A candidate of the store for which this program has a plan.
struct RecordedPlan {
  Config config;
  KernelTarget target;
  std::string recorded;  ///< the plan hash of its latest entry
  std::string plan, launches, kernel;
  std::string problem;  ///< its text
};

/// The architecture that compiler options name, if this program supports it.
std::optional<DeviceLimits> limits_named_in(std::string_view options) {
  constexpr std::string_view kArchitecture = "--gpu-architecture=";
  if (!options.starts_with(kArchitecture)) return std::nullopt;
  const std::string_view arch = options.substr(kArchitecture.size());
  return limits_for_target(arch.substr(0, arch.find(' ')));
}

/// Each problem and config once for the compiler options it was recorded with, by problem and config.
std::vector<RecordedPlan> recorded_plans(const db::Store& store) {
  std::vector<RecordedPlan> plans;
  std::unordered_set<std::string> seen;
  std::map<std::string, std::optional<DeviceLimits>> limits;
  for (const db::Record& entry : store.records()) {  // the latest first
    if (!entry.task.is_gemm()) continue;             // texts of one's own are not rewritten by us
    const std::string& options = entry.environment.compiler_options;
    if (!seen.insert(fmt::format("{}\n{}\n{}", text(entry.task), entry.config.text(), options)).second) continue;
    const auto known = limits.try_emplace(options, limits_named_in(options)).first;
    const std::string plan = known->second ? plan_hash(entry.config, entry.task.problem(), options) : std::string();
    if (plan.empty()) continue;
    const KernelTarget target{entry.task.problem(), *known->second};
    plans.push_back({entry.config, target, entry.plan_hash, plan, launches_hash(entry.config, entry.task.problem()),
        kernel_hash(entry.config, target, options), text(entry.task)});
  }
  return plans;
}

/// A line each, tabs between recorded, plan, launches and kernel hash, architecture, problem and config; the first line
/// names them.
std::string plans_table(const std::vector<RecordedPlan>& plans) {
  std::string table = "recorded\tplan\tlaunches\tkernel\tarch\tproblem\tconfig\n";
  for (const RecordedPlan& one : plans)
    table += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", one.recorded, one.plan, one.launches, one.kernel,
        one.target.limits.arch, one.problem, one.config.text());
  return table;
}

/// Compiles each kernel once, on all cores; with `every` above 1 those of every so many-th candidate. Writes
/// FOLDER/HASH.cu (the source), HASH.cubin and HASH.txt (registers, bytes of spills and of static shared memory, or why
/// there is no cubin). Existing files are kept.
void write_kernels(const std::vector<RecordedPlan>& plans, std::size_t every, const std::filesystem::path& folder,
    const std::atomic<bool>& stop) {
  CountProgress progress("kernels compiled");
  std::map<std::string, const RecordedPlan*> kernels;
  for (std::size_t i = 0; i < plans.size(); i += every) kernels.try_emplace(plans[i].kernel, &plans[i]);
  std::vector<const RecordedPlan*> missing;
  for (const auto& [hash, one] : kernels) {
    if (!std::filesystem::exists(folder / (hash + ".txt"))) missing.push_back(one);
  }
  std::atomic<std::size_t> count{kernels.size() - missing.size()};
  on_all_cores(missing.size(), [&](std::size_t i) {
    if (stop) return;
    const RecordedPlan& one = *missing[i];
    const db::KernelBuild build = runtime::compile(one.config, one.target);
    if (const Family* family = find_family(one.config.family()))
      db::write_file_atomically(folder / (one.kernel + ".cu"), family->source(one.config, one.target));
    if (!build.cubin.empty())
      db::write_file_atomically(
          folder / (one.kernel + ".cubin"), {reinterpret_cast<const char*>(build.cubin.data()), build.cubin.size()});
    db::write_file_atomically(folder / (one.kernel + ".txt"),
        fmt::format("{} registers, {} bytes spilled, {} bytes shared; {}\n", build.registers, build.spill_bytes,
            build.static_smem_bytes, build.message));
    progress(++count, kernels.size());
  });
}

/// What this program makes of every recorded candidate: its plan, and its kernels' machine code. Two programs' can be
/// compared (scripts/same_code.sh).
int write_plans(const std::filesystem::path& path, const std::filesystem::path& folder, std::size_t every) {
  if (const std::string why = runtime::nvrtc_unavailable_because(); !why.empty()) throw UsageError(why);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw UsageError(fmt::format("--write-plans {}: {}; expected a folder", folder.string(), error.message()));
  const std::vector<RecordedPlan> plans = recorded_plans(db::Store::open_read_only(path));
  db::write_file_atomically(folder / "plans.tsv", plans_table(plans));
  StopOnSignal signals;
  write_kernels(plans, every, folder, signals.stop());
  if (!signals.stop()) write_result(fmt::format("{}: {}\n", folder.string(), count_of(plans.size(), "plan")));
  return signals.exit_status();
}

int run_renew(const RenewOptions& options) {
  const std::filesystem::path path = database_path(options.db);
  if (!std::filesystem::exists(path))
    throw UsageError(fmt::format("{}: no such file; expected a database", path.string()));
  if (!options.by.empty()) return renew_by(path, options.by);
  if (!options.plans_to.empty()) return write_plans(path, options.plans_to, std::size_t(options.sample));
  const db::Store store = db::Store::open_read_only(path);
  const auto devices = db::meant_by(store.devices(), options.device);
  if (devices.empty()) {
    throw UsageError(fmt::format("{}: holds no device{}; expected one with records", store.path().string(),
        options.device.empty() ? "" : fmt::format(" whose text contains '{}'", options.device)));
  }
  const auto counts = trust_counts(store);
  std::string out;
  for (const db::DeviceIdentity& device : devices) {
    out += fmt::format("{}:\n", short_name(device));
    const auto of_device = counts.find(db::text(device));
    if (of_device == counts.end()) continue;
    for (const auto& [family, of_family] : of_device->second) {
      out += fmt::format("  {}: {}{}\n", family, counts_text(of_family),
          find_family(family) == nullptr ? " (the family is not loaded: see --family-dir)" : "");
    }
  }
  write_result(out);
  return kExitOk;
}

}  // namespace

Command add_renew(CLI::App& program) {
  const auto [app, options, add] =
      new_command<RenewOptions>(program, "renew", "After an upgrade: how many records stand");
  add("--device", options->device, "TEXT", "Only devices whose text contains this (see `tilesmith devices`)");
  add_database_option(*app, options->db);
  CLI::Option* by = add("--by", options->by, "TABLE",
      "Give plans and kernels whose machine code did not change their new hashes, by a table that "
      "scripts/same_code.sh wrote");
  add("--write-plans", options->plans_to, "FOLDER",
      "Write what this program makes of each recorded candidate: hashes of its plan, and its kernels compiled. Needs "
      "NVRTC")
      ->excludes(by);
  add("--sample", options->sample, "N", "With --write-plans: compile the kernels of every Nth candidate alone")
      ->needs("--write-plans")
      ->check(between(1, 1'000'000));
  app->footer(
      "Record rests on a hash of the plan that ran: its kernels' source as the compiler gets it, without comments, the options, and the\n"
      "launches. Where this program would run the same, it stands; the rest is retired, and `tilesmith tune` tries it again. Of what stands,\n"
      "reverify: the driver or NVRTC changed; remeasure: the measuring policy did, or a trial recorded it. The candidates of each family are\n"
      "counted as `query` judges them, by the latest entry of each. Needs no GPU and no NVRTC. Only --by changes the file.\n"
      "\nExamples:\n"
      "  tilesmith renew --db tuned.db\n"
      "  scripts/same_code.sh HEAD~1 --db tuned.db --out table && tilesmith renew --db tuned.db --by table");
  return {app, [options = options] { return run_renew(*options); }};
}

}  // namespace tilesmith::tuner
