// tilesmith tune --device all: a tuner process for each device, supervised; what they found, in one table.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <utility>
#include <vector>

#include "runtime/compile/compiler.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/commands/tune_command.hpp"
#include "tuner/cli/options/command_line.hpp"
#include "tuner/cli/output/signals.hpp"
#include "tuner/cli/output/summary.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/workers/compile_process_count.hpp"

namespace tilesmith::tuner {
namespace {

constexpr int kReservedCores = 1;  // for measuring, on each device

/// The user's own words, less those that name the devices, and the number of compiling processes of each.
std::vector<std::string> shared_arguments(int compile_jobs) {
  std::vector<std::string> kept;
  const std::vector<std::string>& given = command_arguments();
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] == "--device" || given[i] == "--compile-jobs") ++i;
    else if (given[i].rfind("--device=", 0) != 0 && given[i].rfind("--compile-jobs=", 0) != 0) kept.push_back(given[i]);
  }
  kept.push_back("--compile-jobs");
  kept.push_back(std::to_string(compile_jobs));
  return kept;
}

int compile_jobs_of_each(const TuneCommandOptions& options, const PreparedTune& prepared) {
  if (options.compile_jobs > 0) return options.compile_jobs;
  return default_compile_process_count(
      kReservedCores, prepared.devices.front().integrated, int(prepared.devices.size()));
}

SupervisorOutput screen_output() {
  Screen& screen = Screen::instance();
  SupervisorOutput output;
  output.line = [&](const TuneDevice& device, const std::string& line) {
    screen.print_line(fmt::format("[device {}] {}", device.ordinal, line));
  };
  if (screen.is_terminal())
    output.status = [&](std::vector<std::string> lines) { screen.set_status(std::move(lines)); };
  return output;
}

std::string list_of(const std::deque<Model>& models) {
  std::vector<std::string> all;
  for (const Model& model : models) {
    std::vector<int> ordinals;
    for (const TuneDevice& device : model.devices) ordinals.push_back(device.ordinal);
    all.push_back(fmt::format("{} (device {})", short_name(model.identity()), fmt::join(ordinals, ", ")));
  }
  return fmt::format("{}", fmt::join(all, " and "));
}

void log_end(const std::deque<Model>& models, bool stopped) {
  for (const Model& model : models) {
    const std::size_t had = model.board.had_slices();
    spdlog::info("ended: {}; {} of {} had {} time slice on {}", how_it_ended(model.board, stopped, model.status), had,
        count_of(model.board.size(), "problem"), had == 1 ? "its" : "their", short_name(model.identity()));
  }
}

bool has_records(const db::Store& store, const db::DeviceIdentity& device) {
  db::RecordFilter filter;
  filter.device_exactly = device;
  filter.limit = 1;
  return !store.records(filter).empty();
}

/// "run.jsonl.zst" → "run.device2.jsonl.zst".
std::filesystem::path with_number(const std::filesystem::path& path, int ordinal) {
  std::string name = path.filename().string();
  name.insert(std::min(name.find('.', 1), name.size()), fmt::format(".device{}", ordinal));
  return path.parent_path() / name;
}

/// A recording is of one model.
void save_records(const db::Store& store, const std::deque<Model>& models, const std::filesystem::path& path) {
  for (const Model& model : models) {
    if (!has_records(store, model.identity())) continue;
    const std::filesystem::path file = models.size() == 1 ? path : with_number(path, model.devices.front().ordinal);
    db::RecordFilter filter;
    filter.device_exactly = model.identity();
    db::save_recording(store, filter, file);
    spdlog::info("made the recording of {} in {}", short_name(model.identity()), file.string());
  }
}

/// Without an evaluator, which would start to measure: the environment is what the library would take itself for.
SummaryDevice summary_device(const db::Store& store, const Model& model) {
  const TuneDevice& device = model.devices.front();
  db::RecordFilter filter;
  filter.device_exactly = device.identity;
  const TargetDevice here{
      device.identity, device.limits, device.clock_mhz, device.driver_version, device.recording.empty()};
  return {device.identity, device.limits, device.clock_mhz,
      [entries = store.records(filter), here](
          const std::string& family) { return environment_to_judge_by(entries, family, here); }};
}

}  // namespace

int tune_on_several(const TuneCommandOptions& options, const PreparedTune& prepared) {
  apply_log_options(options.log, "[supervisor]");
  StopOnSignal signals;
  std::deque<Model> models = models_of(prepared.devices, prepared.workload, prepared.tune.budget);
  const db::Store store = open_tune_store(options);
  spdlog::info("{}", announcement(options, prepared, list_of(models)));
  spdlog::info("records go to {}", store.path().string());

  {
    const ClearedStatus cleared;
    supervise(models, prepared.workload, shared_arguments(compile_jobs_of_each(options, prepared)), screen_output(),
        signals.stop());
  }

  log_end(models, signals.stop());
  if (!options.record.empty()) save_records(store, models, options.record);
  for (const Model& model : models)
    fmt::print("{}", summary_of_bests(prepared.workload, store, summary_device(store, model), stdout_width()));
  std::fflush(stdout);
  if (signals.exit_status() != 0) return signals.exit_status();
  std::vector<int> statuses;
  for (const Model& model : models) statuses.push_back(model.status);
  return worst_of(statuses);
}

}  // namespace tilesmith::tuner
