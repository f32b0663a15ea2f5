// What `tilesmith tune` works on: its options checked, its devices found.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <unordered_set>

#include "db/files/files.hpp"
#include "runtime/compile/compiler.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/commands/tune_command.hpp"
#include "tuner/cli/options/command_line.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/peaks.hpp"

namespace tilesmith::tuner {
namespace {

constexpr const char* kNoDeviceAdvice =
    "use --replay FILE to run against a recording, or `tilesmith compile --arch sm_87` to prepare";
constexpr int kMostOrdinal = 1024;
constexpr std::size_t kMostNamed = 20;  // problems that a recording lacks
constexpr int kFinalistsAlone =
    12;  // of --only-finalists: no search stands behind them, and each takes some hundredths of a second

/// Ordinals in the order given; empty: all.
std::vector<int> parse_devices(const std::string& given) {
  if (given == "all") return {};
  std::vector<int> ordinals;
  for (const std::string& text : split_commas({given})) {
    const int ordinal = whole_number<int>(text).value_or(-1);
    if (ordinal < 0 || ordinal > kMostOrdinal)
      throw UsageError(
          fmt::format("--device '{}': expected an ordinal such as 0, several such as 0,2, or all (see "
                      "`tilesmith devices`)",
              given));
    if (std::ranges::find(ordinals, ordinal) != ordinals.end())
      throw UsageError(fmt::format("--device '{}': {} is named twice; expected each device once", given, ordinal));
    ordinals.push_back(ordinal);
  }
  return ordinals;
}

std::unordered_set<std::string> recorded_problems(const db::Recording& recording) {
  std::unordered_set<std::string> recorded;
  for (const db::Record& entry : recording.entries) recorded.insert(text(entry.task));
  return recorded;
}

/// Of a recording that has none of them.
std::string has_none_of(const std::vector<WeightedTask>& missing, const db::Recording& recording, std::size_t recorded,
    const std::string& file) {
  const std::string which =
      missing.size() == 1 ? text(missing.front().task) : fmt::format("any of the {} problems", missing.size());
  const std::string instead = recording.entries.empty()
                                  ? "a recording with outcomes"
                                  : fmt::format("some of its {}, such as {}", count_of(recorded, "problem"),
                                        text(recording.entries.front().task));
  return fmt::format("--replay '{}': the recording has no outcome of {}; expected {}", file, which, instead);
}

/// Recordings stand for devices: the first is device 0. One that has none of the problems is left out. Throws
/// UsageError if all are. Takes from the workload what the only recording lacks.
std::vector<TuneDevice> recorded_devices(
    const TuneCommandOptions& options, PreparedTune& prepared, std::vector<int> ordinals) {
  std::vector<std::string> files;
  for (const std::string& given : options.replays) files.push_back(recording_named(given));
  if (ordinals.empty()) {
    for (std::size_t i = 0; i < files.size(); ++i) ordinals.push_back(int(i));
  }
  std::vector<TuneDevice> devices;
  std::vector<WeightedTask> recorded;  // by the last one that stays
  std::vector<std::string> left_out;
  for (const int ordinal : ordinals) {
    if (std::size_t(ordinal) >= files.size()) {
      throw UsageError(fmt::format("--device {}: no such device; expected at most {}, as there {} of --replay", ordinal,
          files.size() - 1, files.size() == 1 ? "is one" : fmt::format("are {}", files.size())));
    }
    const std::string& file = files[std::size_t(ordinal)];
    Screen::instance().set_status({fmt::format("reading {}", file)});  // which takes seconds
    db::Recording recording = db::load_recording(file);
    Screen::instance().clear_status();
    const auto limits = limits_for_arch(recording.arch);
    if (!limits) {
      throw UsageError(
          fmt::format("--replay '{}': recorded for {}; expected one of {}", file, recording.arch, supported_archs()));
    }
    const bool counts_only = options.dry_run || options.board;  // the space; or the supervising process has told it
    const std::unordered_set<std::string> known = recorded_problems(recording);
    std::vector<WeightedTask> here, missing;
    for (const WeightedTask& one : prepared.workload.tasks)
      (counts_only || known.contains(text(one.task)) ? here : missing).push_back(one);
    if (here.empty()) {
      left_out.push_back(has_none_of(missing, recording, known.size(), file));
      continue;
    }
    for (std::size_t i = 0; i < std::min(missing.size(), kMostNamed); ++i)
      spdlog::warn("{}: the recording has no outcome of {}", file, text(missing[i].task));
    if (missing.size() > kMostNamed)
      spdlog::warn("{}: nor of {} more", file, count_of(missing.size() - kMostNamed, "problem"));
    devices.push_back({ordinal, recording.device, *limits, 0, "", "", file});
    recorded = std::move(here);
    prepared.recording = std::move(recording);
  }
  if (devices.empty()) throw UsageError(left_out.front());
  for (const std::string& reason : left_out) spdlog::warn("{}; left out", reason);
  if (devices.size() > 1) prepared.recording.reset();  // another may have what one lacks
  else prepared.workload.tasks = std::move(recorded);
  return devices;
}

TuneDevice present_device(runtime::DeviceInfo found, const std::string& as) {
  const runtime::DeviceInfo info = require_device_as(std::move(found), as);
  const std::string name = info.pci_bus_id.empty() ? std::to_string(info.ordinal) : info.pci_bus_id;
  return {info.ordinal, info.identity, info.limits, info.clock_mhz, info.driver_version, "GPU " + name, "",
      info.integrated};
}

std::vector<TuneDevice> present_devices(const std::vector<int>& ordinals, const std::string& as, const char* advice) {
  std::vector<TuneDevice> devices;
  for (const int ordinal : ordinals) devices.push_back(present_device(require_device(ordinal, advice), as));
  if (!ordinals.empty()) return devices;
  const std::vector<runtime::DeviceInfo> here = require_devices(advice);
  for (const runtime::DeviceInfo& info : here) {
    if (info.limits.arch.empty()) {
      spdlog::warn("device {}: {} is sm_{} and left out; expected one of {}", info.ordinal, info.identity.name,
          info.identity.sm, supported_archs());
      continue;
    }
    devices.push_back(present_device(info, as));
  }
  if (devices.empty()) {
    throw UsageError(
        fmt::format("--device all: no device of an architecture that is supported; expected one of {}, here is "
                    "{} of sm_{}",
            supported_archs(), here.front().identity.name, here.front().identity.sm));
  }
  return devices;
}

std::vector<TuneDevice> choose_devices(const TuneCommandOptions& options, PreparedTune& prepared) {
  const std::vector<int> ordinals = parse_devices(options.device);
  if (!options.arch.empty() && !options.dry_run) throw UsageError("--arch: expected only together with --dry-run");
  if (!options.as.empty()) {
    require_arch(options.as, "--as");
    if (!options.replays.empty()) throw UsageError("--as: expected only without --replay, which runs no kernel");
    if (!options.arch.empty()) throw UsageError("--as: expected only without --arch");
  }
  if (!options.replays.empty()) return recorded_devices(options, prepared, ordinals);
  if (!options.arch.empty()) {
    TuneDevice not_here;
    not_here.limits = require_arch(options.arch);
    return {not_here};
  }
  return present_devices(ordinals, options.as, options.dry_run ? "use --arch ARCH to count for one" : kNoDeviceAdvice);
}

/// cuBLASLt runs its own code, and a recording none of anybody's.
bool times_vendor(const TuneCommandOptions& options) {
  if (!options.peer.empty() && options.peer != "cublaslt" && options.peer != "none")
    throw UsageError(fmt::format("--peer '{}': expected cublaslt or none", options.peer));
  const char* const other = !options.as.empty()        ? "--as, whose code is not cuBLASLt's"
                            : !options.replays.empty() ? "--replay, which runs no kernel"
                                                       : nullptr;
  if (other != nullptr && options.peer == "cublaslt")
    throw UsageError(fmt::format("--peer cublaslt: expected only without {}", other));
  return other == nullptr && options.peer != "none";
}

/// Before anything is known of a device: the nodes of a cluster may differ, and must agree.
void take_shard(const TuneCommandOptions& options, PreparedTune& prepared) {
  prepared.whole = prepared.workload.tasks.size();
  prepared.shard =
      parse_shard(options.shard, [](const char* name) { return static_cast<const char*>(std::getenv(name)); });
  if (prepared.shard) prepared.workload = part_of(prepared.workload, prepared.shard->shard, nominal_us);
}

/// Nothing tells a wrong kernel without a reference from a right one: whoever tunes one has to say so.
void require_references(const Workload& workload) {
  for (const WeightedTask& one : workload.tasks) {
    const own::Kernel* kernel = one.task.is_gemm() ? nullptr : own::find_kernel(one.task.kernel().kernel);
    if (kernel != nullptr && !kernel->definition().reference)
      throw UsageError(fmt::format(
          "--kernel: {} has no reference in its kernel.json, so that nothing proves its results; expected one, or "
          "--unproven",
          kernel->name()));
  }
}

}  // namespace

PreparedTune prepare_tune(const TuneCommandOptions& options) {
  PreparedTune prepared;
  prepared.workload = select_problems(options.problems);
  if (!options.unproven) require_references(prepared.workload);
  take_shard(options, prepared);
  TuneOptions& tune = prepared.tune = options.tune;
  require_strategy(tune.strategy);
  tune.families = parse_families(tune.families);
  if (!options.budget.empty()) tune.budget = parse_duration(options.budget, "--budget");
  if (tune.only_finalists) tune.finalists = kFinalistsAlone;
  if (options.finalists) tune.finalists = *options.finalists;
  tune.vendor = times_vendor(options);
  tune.command = fmt::format("tilesmith {}", fmt::join(command_arguments(), " "));
  if (const std::string own = " --board"; options.board) tune.command.resize(tune.command.size() - own.size());
  tune.workload_name = prepared.workload.name;
  prepared.time_limit = parse_duration(options.time_limit, "--time-limit");
  if (!options.record.empty()) require_writable(options.record, "--record");
  if (prepared.workload.tasks.empty()) return prepared;  // more shards than problems
  prepared.devices = choose_devices(options, prepared);
  if (options.dry_run) return prepared;
  for (const std::string& workload : options.problems.workloads) {
    if (prepared.devices.size() == 1 || (workload != "-" && !db::own_descriptor(workload))) continue;
    throw UsageError(
        fmt::format("--workload '{}': expected a file, which the tuner of each device can read", workload));
  }
  if (prepared.devices.size() > 1 && !options.replays.empty() && options.db.empty()) {
    throw UsageError(
        "--replay: of several devices expected together with --db FILE, the database that their tuners share");
  }
  for (const TuneDevice& device : options.replays.empty() ? prepared.devices : std::vector<TuneDevice>{}) {
    if (const std::string missing = runtime::nvrtc_unfit_because(device.limits); !missing.empty())
      throw UsageError(missing);
  }
  return prepared;
}

db::Store open_tune_store(const TuneCommandOptions& options) {
  // A replay measures nothing: it is kept only where the user says so.
  if (!options.replays.empty() && options.db.empty()) return db::Store::in_memory();
  return db::Store::open(database_path_for_writing(options.db));
}

std::string announcement(const TuneCommandOptions& options, const PreparedTune& prepared, const std::string& on) {
  const double budget = prepared.tune.budget.count();
  const std::string how = prepared.tune.only_finalists
                              ? fmt::format("only the best {} on record of each", prepared.tune.finalists)
                              : fmt::format("strategy {}, seed {}", prepared.tune.strategy, prepared.tune.seed);
  const std::string part = prepared.shard
                               ? fmt::format(", shard {}/{} ({}) of its {},", prepared.shard->shard.index + 1,
                                     prepared.shard->shard.count, prepared.shard->from, prepared.whole)
                               : "";
  return fmt::format("tuning {} of workload {}{} on {}{}; {}{}", count_of(prepared.workload.tasks.size(), "problem"),
      prepared.workload.name, part, on, options.replays.empty() ? "" : " (replayed)", how,
      budget > 0 ? fmt::format(", budget {}", format_seconds(budget)) : "");
}

}  // namespace tilesmith::tuner
