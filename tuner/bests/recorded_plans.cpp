#include "tuner/bests/recorded_plans.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "db/exchange/export.hpp"
#include "kernels/base/on_all_cores.hpp"
#include "runtime/compile/compiler.hpp"

namespace tilesmith::tuner {
namespace {

/// The architecture that compiler options name, if this program supports it.
std::optional<DeviceLimits> limits_of(std::string_view options) {
  constexpr std::string_view kArchitecture = "--gpu-architecture=";
  if (!options.starts_with(kArchitecture)) return std::nullopt;
  const std::string_view arch = options.substr(kArchitecture.size());
  return limits_for_target(arch.substr(0, arch.find(' ')));
}

}  // namespace

std::vector<RecordedPlan> recorded_plans(const db::Store& store) {
  std::vector<RecordedPlan> plans;
  std::unordered_set<std::string> seen;
  std::map<std::string, std::optional<DeviceLimits>> limits;
  for (const db::Record& entry : store.records()) {  // the latest first
    if (!entry.task.is_gemm()) continue;             // texts of one's own are not rewritten by us
    const std::string& options = entry.environment.compiler_options;
    if (!seen.insert(fmt::format("{}\n{}\n{}", text(entry.task), entry.config.text(), options)).second) continue;
    const auto known = limits.try_emplace(options, limits_of(options)).first;
    const std::string plan = known->second ? plan_hash(entry.config, entry.task.problem(), options) : std::string();
    if (plan.empty()) continue;
    const KernelTarget target{entry.task.problem(), *known->second};
    plans.push_back({entry.config, target, entry.plan_hash, plan, launches_hash(entry.config, entry.task.problem()),
        kernel_hash(entry.config, target, options), text(entry.task)});
  }
  return plans;
}

std::string plans_table(const std::vector<RecordedPlan>& plans) {
  std::string table = "recorded\tplan\tlaunches\tkernel\tarch\tproblem\tconfig\n";
  for (const RecordedPlan& one : plans)
    table += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", one.recorded, one.plan, one.launches, one.kernel,
        one.target.limits.arch, one.problem, one.config.text());
  return table;
}

bool write_kernels(const std::vector<RecordedPlan>& plans, std::size_t every, const std::filesystem::path& folder,
    const std::atomic<bool>& stop, const std::function<void(std::size_t done, std::size_t all)>& done) {
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
    done(++count, kernels.size());
  });
  return !stop;
}

}  // namespace tilesmith::tuner
