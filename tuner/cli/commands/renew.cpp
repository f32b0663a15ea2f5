// tilesmith renew: after an upgrade, how many records stand, and how far; and what of it is carried over to new hashes.
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "db/exchange/export.hpp"
#include "db/exchange/record_json.hpp"
#include "db/files/files.hpp"
#include "db/store/renewed_hashes.hpp"
#include "runtime/compile/compiler.hpp"
#include "tuner/bests/bests_today.hpp"
#include "tuner/bests/recorded_plans.hpp"
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
  const auto shown = [](std::size_t count) { return format_count((long long)(count)); };
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
  write_result(fmt::format("new hashes: {} of records, {}\n", format_count((long long)(rows.entries)),
      count_of(std::size_t(rows.kernels), "stored kernel")));
  return kExitOk;
}

int write_plans(const std::filesystem::path& path, const std::filesystem::path& folder, std::size_t every) {
  if (const std::string why = runtime::nvrtc_unavailable_because(); !why.empty()) throw UsageError(why);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw UsageError(fmt::format("--write-plans {}: {}; expected a folder", folder.string(), error.message()));
  const std::vector<RecordedPlan> plans = recorded_plans(db::Store::open_read_only(path));
  db::write_file_atomically(folder / "plans.tsv", plans_table(plans));
  StopOnSignal signals;
  CountProgress progress("kernels compiled");
  const bool is_whole = write_kernels(plans, every, folder, signals.stop(), std::ref(progress));
  if (is_whole) write_result(fmt::format("{}: {}\n", folder.string(), count_of(plans.size(), "plan")));
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
