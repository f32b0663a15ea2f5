// tilesmith renew: after an upgrade, how much of the evidence stands. A look-up: evidence rests on the hash of the plan that ran.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

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

struct Standing {
  std::size_t stand = 0, all = 0;
};

/// By family.
std::map<std::string, Standing> standing_of(const db::Store& store, const db::DeviceIdentity& device) {
  db::EvidenceFilter filter;
  filter.device_exactly = device;
  filter.latest_only = true;
  std::map<std::string, Standing> families;
  for (const db::Evidence& entry : store.evidence(filter)) {
    Standing& family = families[entry.config.family()];
    ++family.all;
    if (db::judge(entry, entry.producer) != db::Trust::retired) ++family.stand;
  }
  return families;
}

int run_renew(const RenewOptions& options) {
  const std::filesystem::path path = database_path(options.db);
  if (!std::filesystem::exists(path)) throw UsageError(fmt::format("{}: no such file; expected a database", path.string()));
  const db::Store store = db::Store::open(path);  // which takes a former one to today's keys
  const auto devices = db::meant_by(store.devices(), options.device);
  if (devices.empty()) {
    throw UsageError(fmt::format("{}: holds no device{}; expected one with evidence", store.path().string(),
                                 options.device.empty() ? "" : fmt::format(" whose text contains '{}'", options.device)));
  }
  std::string out;
  for (const db::DeviceIdentity& device : devices) {
    out += fmt::format("{}:\n", short_name(device));
    for (const auto& [family, standing] : standing_of(store, device)) {
      out += fmt::format("  {}: {} of {} stand{}\n", family, format_count((long long)(standing.stand)), count_of(standing.all, "candidate"),
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
      "launches. Where this program would run the same, it stands; the rest is retired, and `tilesmith tune` tries it again. A database of\n"
      "before there were such hashes gets them here, as it does wherever it is opened for writing. Needs no GPU and no NVRTC.\n"
      "\nExample:\n"
      "  tilesmith renew --db tuned.db");
  return {app, [options] { return run_renew(*options); }};
}

}  // namespace tilesmith::tuner
