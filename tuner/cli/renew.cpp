// tilesmith renew: after an upgrade, how much of the evidence stands, and how far. It only looks.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tuner/bests/trust_counts.hpp"
#include "tuner/cli/command.hpp"
#include "tuner/cli/options.hpp"
#include "tuner/cli/output.hpp"
#include "tuner/figures.hpp"

namespace tilesmith::tuner {
namespace {

struct RenewOptions {
  std::string device;
  std::string db;
};

/// "2 of 3 candidates stand: 1 valid, 1 reverify, 0 remeasure; 1 retired".
std::string counts_text(const TrustCounts& counts) {
  const auto number = [&](db::Trust trust) { return format_count((long long)(counts.count(trust))); };
  using enum db::Trust;
  return fmt::format("{} of {} stand: {} valid, {} reverify, {} remeasure; {} retired",
                     format_count((long long)(counts.all() - counts.count(retired))), count_of(counts.all(), "candidate"), number(valid),
                     number(reverify), number(remeasure), number(retired));
}

int run_renew(const RenewOptions& options) {
  const std::filesystem::path path = database_path(options.db);
  if (!std::filesystem::exists(path)) throw UsageError(fmt::format("{}: no such file; expected a database", path.string()));
  const db::Store store = db::Store::open_read_only(path);
  const auto devices = db::meant_by(store.devices(), options.device);
  if (devices.empty()) {
    throw UsageError(fmt::format("{}: holds no device{}; expected one with evidence", store.path().string(),
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
  CLI::App* app = program.add_subcommand("renew", "After an upgrade: how much of the evidence stands");
  const auto options = std::make_shared<RenewOptions>();
  app->add_option("--device", options->device, "Only devices whose text contains this (see `tilesmith devices`)")->type_name("TEXT");
  add_database_option(*app, options->db);
  app->footer(
      "Evidence rests on a hash of the plan that ran: its kernels' source as the compiler gets it, without comments, the options, and the\n"
      "launches. Where this program would run the same, it stands; the rest is retired, and `tilesmith tune` tries it again. Of what stands,\n"
      "reverify: the driver or NVRTC changed; remeasure: the measuring policy did, or a trial recorded it. The candidates of each family are\n"
      "counted as `query` judges them, by the latest entry of each. The file is not changed. Needs no GPU and no NVRTC.\n"
      "\nExample:\n"
      "  tilesmith renew --db tuned.db");
  return {app, [options] { return run_renew(*options); }};
}

}  // namespace tilesmith::tuner
