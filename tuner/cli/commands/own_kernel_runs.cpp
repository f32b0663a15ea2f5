#include "tuner/cli/commands/own_kernel_runs.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "kernels/families/tasks.hpp"
#include "runtime/compile/compiler.hpp"
#include "tuner/bests/bests_today.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/exit_status.hpp"
#include "tuner/figures.hpp"
#include "tuner/peaks.hpp"
#include "tuner/search/sample.hpp"
#include "tuner/workers/task_kind.hpp"

namespace tilesmith::tuner {
namespace {

/// Compiled on all cores, so many at a time; `use` gets each in order.
template <typename Use>
void each_build(const std::vector<Config>& configs, const Task& task, const DeviceLimits& limits, Use&& use) {
  const std::size_t at_once = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::future<db::KernelBuild>> builds(configs.size());
  for (std::size_t i = 0, begun = 0; i < configs.size(); ++i) {
    for (; begun < std::min(configs.size(), i + at_once); ++begun) {
      builds[begun] = std::async(std::launch::async,
          [&, config = configs[begun]] { return runtime::compile_for_proof(config, signature_text(task), limits); });
    }
    if (!use(configs[i], builds[i].get())) return;
  }
}

db::Outcome proven(TaskKind& kind, const Task& task, const db::KernelBuild& build, std::unique_ptr<Loaded>& loaded) {
  if (build.cubin.empty()) return {build.status, build.message, {}};
  loaded = kind.load(task, build.key.config, build.cubin);
  const db::Outcome suite = kind.suite(*loaded, build.delayed_cubin);
  return suite.status == db::Status::ok ? kind.verify(*loaded, build.delayed_cubin, {}) : suite;
}

/// Those of this device that ended well and may run.
std::vector<Config> tuned_configs(const db::Store& store, const SizedKernel& sized, const runtime::DeviceInfo& info) {
  std::vector<Config> configs;
  std::set<std::string> seen;
  for (const db::Record& record : store.records({.task = Task(sized), .device_exactly = info.identity})) {
    const bool is_newest = seen.insert(record.config.text()).second;
    if (is_newest && record.outcome.timing && !refused_because(record.config, sized, info.limits))
      configs.push_back(record.config);
  }
  return configs;
}

void write_results(const std::filesystem::path& folder, std::size_t number, const Config& config,
    const std::vector<std::pair<std::string, std::vector<std::byte>>>& results) {
  const auto write = [&](const std::string& name, const char* bytes, std::size_t size, std::ios::openmode how) {
    std::ofstream file(folder / name, std::ios::binary | how);
    if (!file.write(bytes, std::streamsize(size)).flush())
      throw UsageError(fmt::format("--results: {}: cannot be written", (folder / name).string()));
  };
  for (const auto& [name, bytes] : results)
    write(fmt::format("{}.{}.bin", number, name), reinterpret_cast<const char*>(bytes.data()), bytes.size(),
        std::ios::trunc);
  const std::string line = fmt::format("{} {}\n", number, config.text());
  write("configs.txt", line.data(), line.size(), number == 0 ? std::ios::trunc : std::ios::app);
}

runtime::DeviceInfo usable_device(int device, const std::string& as, const char* command) {
  if (!as.empty()) require_arch(as, "--as");
  const auto info = require_device_as(require_device(device, command), as);
  if (const std::string missing = runtime::nvrtc_unfit_because(info.limits); !missing.empty())
    throw UsageError(missing);
  return info;
}

}  // namespace

int verify_own_kernel(const OwnKernelOptions& options, const OwnConfigs& which, const std::filesystem::path& results,
    int device, const std::string& as, const std::atomic<bool>& stop) {
  const own::Kernel& kernel = load_own_kernel(options);
  const SizedKernel sized = sized_kernel(kernel, options);
  if (!kernel.definition().reference && results.empty())
    throw UsageError(fmt::format("--kernel: {} has no reference in its kernel.json, expected one", kernel.name()));
  const runtime::DeviceInfo info = usable_device(device, as, "verify runs kernels, and so needs one");
  const Space space = kernel.space(sized, info.limits);
  const std::vector<Config> configs =
      which.tuned != nullptr ? tuned_configs(*which.tuned, sized, info)
                             : spread_sample(space, {}, std::min(which.most, space.configs.size()), which.seed);
  const runtime::Context context(device, as);
  const std::unique_ptr<OwnKernelKind> kind = make_own_kernel_kind(context);
  std::size_t right = 0, not_built = 0, wrong = 0;
  each_build(configs, sized, info.limits, [&](const Config& config, const db::KernelBuild& build) {
    std::unique_ptr<Loaded> loaded;
    const db::Outcome outcome = proven(*kind, sized, build, loaded);
    if (outcome.status == db::Status::ok) {
      if (!results.empty()) write_results(results, right, config, kind->results());
      ++right;
    } else {
      ++(outcome.status == db::Status::compile_failed ? not_built : wrong);
      spdlog::warn("{}: {}: {}", config.text(), db::name(outcome.status), outcome.message);
    }
    Screen::instance().set_status(
        {fmt::format("verified {}/{}, {} failed", right + not_built + wrong, configs.size(), wrong)});
    return !stop;
  });
  Screen::instance().clear_status();
  fmt::print("{} on {}: {} of {} configs: {} right, {} not built, {} failed{}\n", text(sized),
      short_name(info.identity), configs.size(), format_count((long long)(space.configs.size())), right, not_built,
      wrong, stop ? " (interrupted)" : "");
  return wrong == 0 && right > 0 ? kExitOk : kExitInternal;
}

int bench_own_kernel(const OwnKernelOptions& options, const std::string& peer_folder, const db::Store* store,
    int device, const std::string& as) {
  std::vector<SizedKernel> all{sized_kernel(load_own_kernel(options), options)};
  if (!peer_folder.empty()) {
    const OwnKernelOptions peer{peer_folder, options.sizes};
    all.push_back(sized_kernel(load_own_kernel(peer), peer));
  }
  const runtime::DeviceInfo info = usable_device(device, as, "bench times kernels, and so needs one");
  const runtime::Context context(device, as);
  Stopwatch stopwatch(context);
  struct Row {
    Task task;
    std::string what;
    db::Outcome outcome;
  };
  std::vector<Row> rows;
  std::vector<std::size_t> timed;
  std::vector<std::unique_ptr<TaskKind>> kinds;
  std::vector<std::unique_ptr<Loaded>> loaded;
  std::vector<Competitor> playing;
  int sets = kMaxOperandSets;
  for (const SizedKernel& sized : all) {
    TaskKind& kind = *kinds.emplace_back(make_own_kernel_kind(context));
    const std::vector<db::JudgedBest> bests =
        store == nullptr ? std::vector<db::JudgedBest>() : bests_of_kernels(*store, {sized}, info.identity);
    const Space space = own::kernel_of(sized).space(sized, info.limits);
    if (space.configs.empty())
      throw UsageError(fmt::format("{}: no config is legal on {}", text(sized), info.limits.arch));
    std::vector<std::pair<std::string, Config>> entrants;
    if (!bests.empty()) entrants.emplace_back("best", bests.front().record.config);
    entrants.emplace_back("first", space.configs.front());
    for (const auto& [what, config] : entrants) {
      Row& row = rows.emplace_back(Row{sized, fmt::format("{} {}", what, config.text()), {}});
      std::unique_ptr<Loaded>& one = loaded.emplace_back();
      row.outcome = proven(kind, sized, runtime::compile_for_proof(config, signature_text(row.task), info.limits), one);
      if (row.outcome.status != db::Status::ok) continue;
      sets = std::min(sets, kind.operands_of(sized).operand_sets());
      playing.push_back(kind.competitor(*one, nullptr));
      timed.push_back(rows.size() - 1);
    }
  }
  Rotation rotation(std::max(1, sets));
  const std::vector<db::Outcome> played =
      playing.empty() ? std::vector<db::Outcome>() : stopwatch.final_benchmark(playing, rotation);
  for (std::size_t i = 0; i < played.size(); ++i) rows[timed[i]].outcome = played[i];
  const auto us_of = [](const Row& row) { return row.outcome.timing ? row.outcome.timing->median_us : 0; };
  TextTable table({"kernel", ">µs", ">x", ">rate", "config"});
  for (const Row& row : rows) {
    const double us = us_of(row), first = us_of(rows.front());
    table.add({text(row.task).substr(std::string_view("kernel ").size()),
        us > 0 ? format_us(us) : std::string(db::name(row.outcome.status)),
        us > 0 && first > 0 ? fmt::format("{:.3f}", us / first) : "-", rate_of(row.task, info.identity, us, 0).text(),
        row.what});
    if (us == 0) spdlog::warn("{}: {}: {}", row.what, db::name(row.outcome.status), row.outcome.message);
  }
  fmt::print(
      "{}\n\n{}(x: the time over that of the first line)\n", short_name(info.identity), table.text(stdout_width()));
  return played.empty() ? kExitInternal : kExitOk;
}

}  // namespace tilesmith::tuner
