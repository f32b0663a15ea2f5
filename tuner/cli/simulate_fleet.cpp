#include "tuner/cli/simulate_fleet.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <charconv>
#include <stdexcept>

#include "db/landscape.hpp"
#include "tuner/cli/command.hpp"
#include "tuner/cli/options.hpp"
#include "tuner/cli/records.hpp"
#include "tuner/cli/table.hpp"
#include "tuner/cli/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/loop/fleet_simulation.hpp"
#include "tuner/peaks.hpp"
#include "tuner/schedule/shards.hpp"

namespace tilesmith::tuner {
namespace {

std::vector<std::size_t> shard_counts(const FleetOptions& options) {
  std::vector<std::size_t> counts;
  for (const std::string& text : split_commas(options.shards)) {
    std::size_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc{} || end != text.data() + text.size() || count < 1 || count > options.problems)
      throw UsageError(fmt::format("--shards '{}': expected numbers from 1 to that of the problems, {}", text, options.problems));
    counts.push_back(count);
  }
  return counts;
}

FleetSimulation simulation_of(const FleetOptions& options) {
  if (options.landscapes.size() != 1) throw UsageError("--landscape: of --shards expected one, a recorded landscape");
  try {
    return {db::load_landscape(options.landscapes.front()), options.problems, options.seed};
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--landscape '{}': {}", options.landscapes.front(), error.what()));
  }
}

nlohmann::ordered_json json_of(const FleetSimulation::Scaled& one) {
  return {{"shards", one.shards}, {"seconds", one.seconds}, {"ratio", one.ratio}, {"quality", one.quality}, {"fewest", one.fewest}, {"most", one.most}, {"fullest", one.fullest}};
}

}  // namespace

int run_fleet(const FleetOptions& options, TextFormat format) {
  const std::vector<std::size_t> counts = shard_counts(options);
  const FleetSimulation simulation = simulation_of(options);
  spdlog::info("{} made of {} recorded, {} of one tuner", count_of(simulation.workload().problems.size(), "problem"), simulation.recorded(),
               format_seconds(simulation.seconds()));
  using Align = TextTable::Align;
  TextTable table({{"shards", Align::right}, {"time", Align::right}, {"ideal", Align::right}, {"x ideal", Align::right}, {"quality", Align::right}, {"problems of a shard", Align::right}, {"fullest", Align::right}});
  nlohmann::ordered_json records = nlohmann::ordered_json::array();
  const auto split = [](const Workload& workload, std::size_t count) { return shards_of(workload, count, nominal_us); };
  for (const std::size_t count : counts) {
    const FleetSimulation::Scaled one = simulation.scaled(count, split);
    records.push_back(json_of(one));
    table.add({std::to_string(count), format_seconds(one.seconds), format_seconds(simulation.seconds() / double(count)), fmt::format("{:.2f}", one.ratio),
               fmt::format("{:.4f}", one.quality), fmt::format("{} to {}", one.fewest, one.most), fmt::format("{:.2f}", one.fullest)});
  }
  if (format == TextFormat::table) {
    write_result(table.text(stdout_width()));
  } else {
    write_result(format == TextFormat::json ? json_text(records) : to_csv(records, {"shards", "seconds", "ratio", "quality", "fewest", "most", "fullest"}));
  }
  return kExitOk;
}

}  // namespace tilesmith::tuner
