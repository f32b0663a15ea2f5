// tilesmith renew: after the templates of kernels changed, evidence of what runs as it ran before, with no GPU.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

#include "runtime/compiler.hpp"
#include "tuner/commands/command.hpp"
#include "tuner/commands/logging.hpp"
#include "tuner/commands/options.hpp"
#include "tuner/commands/progress.hpp"
#include "tuner/commands/signals.hpp"
#include "tuner/commands/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/renew.hpp"

namespace tilesmith::tuner {
namespace {

struct RenewOptions {
  std::string device;
  std::int64_t first = 16;
  int compile_jobs = 0;
  std::string db;
  LogOptions log;
};

/// Devices of the store that ran code of their own, of architectures that are supported.
std::vector<std::pair<db::DeviceIdentity, DeviceLimits>> devices_of(const db::Store& store, const std::string& part) {
  std::vector<std::pair<db::DeviceIdentity, DeviceLimits>> found;
  for (const db::DeviceIdentity& device : db::meant_by(store.devices(), part)) {
    if (!db::ran_as(device).empty()) continue;
    if (const auto limits = limits_for_compute_capability(device.sm / 10, device.sm % 10))
      found.emplace_back(device, *limits);
  }
  if (found.empty()) {
    throw UsageError(fmt::format("{}: holds no device{}; expected one whose evidence to renew", store.path().string(),
                                 part.empty() ? "" : fmt::format(" whose text contains '{}'", part)));
  }
  return found;
}

int run_renew(const RenewOptions& options) {
  if (const std::string missing = runtime::nvrtc_unavailable_because(); !missing.empty()) throw UsageError(missing);
  apply_log_options(options.log);
  StopOnSignal signals;
  const std::filesystem::path path = database_path(options.db);
  if (!std::filesystem::exists(path))
    throw UsageError(fmt::format("{}: no such file; expected a database", path.string()));
  db::Store store = db::Store::open(path);
  for (const auto& [device, limits] : devices_of(store, options.device)) {
    const std::size_t noted = note_what_ran(store, device, limits);
    const Renewables found = renewables(store, device, limits, std::size_t(options.first));
    const std::vector<CompileJob> jobs = jobs_of(found.candidates, limits);
    spdlog::info("{}: {} for {} whose templates changed", short_name(device), count_of(jobs.size(), "kernel"),
                 count_of(found.candidates.size(), "candidate"));
    CompileProgress progress(jobs.size());
    compile_all(
        store, jobs, options.compile_jobs,
        [&](const db::KernelBuild& build, bool reused) { progress.update(build, reused); }, signals.stop());
    Screen::instance().clear_status();
    if (signals.stop()) break;
    const Renewed result = renew(store, found.candidates, limits);
    fmt::print("{}:\n", short_name(device));
    fmt::print("  {} renewed: the same launches of the same machine code\n", count_of(result.same, "candidate"));
    fmt::print("  {} changed, {} not compiled\n", format_count((long long)(result.changed)),
               format_count((long long)(result.not_compiled)));
    fmt::print(
        "  {} more retired: {} do not say what ran, {} may not run or need not be tried any more, the others are "
        "slower\n",
        format_count((long long)(found.retired - found.candidates.size())), format_count((long long)(found.unknown)),
        format_count((long long)(found.not_eligible)));
    fmt::print("  {} by today's templates now say what ran\n", count_of(noted, "outcome"));
  }
  if (signals.stop()) fmt::print("interrupted: start again to go on\n");
  std::fflush(stdout);
  return signals.exit_status();
}

}  // namespace

Command add_renew(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("renew", "After an upgrade: keep the evidence of kernels that came out the same");
  const auto options = std::make_shared<RenewOptions>();
  app->add_option("--device", options->device, "Only devices whose text contains this (see `tilesmith devices`)")
      ->type_name("TEXT");
  app->add_option("--first", options->first, "Of each problem so many of the fastest that are retired")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, kMostCount).description(""));
  add_compile_jobs_option(*app, options->compile_jobs, "one a core");
  add_database_option(*app, options->db);
  add_log_options(*app, options->log);
  app->footer(
      "Evidence rests on the templates that its kernels were made from; where these change it is retired, and the "
      "runtime library\n"
      "does not go by it. This compiles the fastest of it anew and compares with what ran then, the launches and the "
      "machine code:\n"
      "where both are the same, the time holds, and is kept as of today's templates, with when and where it was "
      "measured. What\n"
      "changed is tuned again by `tilesmith tune`. Entries say what ran where the tuner had their kernels; of those by "
      "today's\n"
      "templates that do not, this fills it in from the kernels in the database. Needs no GPU.\n"
      "\nExample:\n"
      "  tilesmith renew --db tuned.db");
  return {app, [options] { return run_renew(*options); }};
}

}  // namespace tilesmith::tuner
