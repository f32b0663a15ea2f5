#include "tuner/cli/commands/prior.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "tuner/cli/output/table.hpp"
#include "tuner/figures.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kInitialConfigs = 5;
constexpr std::size_t kReasons = 3;  // of a family

using Json = nlohmann::ordered_json;
using Counted = std::vector<std::pair<std::string, std::int64_t>>;

Counted most_first(const std::map<std::string, std::int64_t>& counts) {
  Counted sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater(), &Counted::value_type::second);
  return sorted;
}

std::int64_t total(const Counted& counts) {
  std::int64_t sum = 0;
  for (const auto& [reason, count] : counts) sum += count;
  return sum;
}

Pruned pruned_of(const Family& family, const KernelTarget& target, const Problem& problem) {
  Space space = enumerate_space(family, target);
  Pruned pruned{std::string(family.name()), space.combinations, std::move(space.removed), {}, {}, 0};
  std::erase_if(pruned.by_rules, [](const RuleCount& rule) { return rule.removed == 0; });
  std::ranges::stable_sort(pruned.by_rules, std::greater(), &RuleCount::removed);
  std::map<std::string, std::int64_t> refused, dominated;
  for (const Config& config : space.configs) {
    if (const auto why = refused_because(family, config, problem)) ++refused[*why];
    else if (const auto by = family.dominated(config, as_planned(problem))) ++dominated[*by];
    else ++pruned.left;
  }
  pruned.refused = most_first(refused);
  pruned.dominated = most_first(dominated);
  return pruned;
}

std::string time_text(double cycles, double clock_mhz) {
  return clock_mhz > 0 ? fmt::format("{} us", format_us(cycles / clock_mhz)) : fmt::format("{:.0f} cycles", cycles);
}

std::string room_text(const Estimate& made) {
  std::vector<std::string> rooms;
  const auto add = [&](int blocks, const char* by) {
    if (blocks > 0) rooms.push_back(fmt::format("{} by {}", blocks, by));
  };
  add(made.room_by_shared_memory, "shared memory");
  add(made.room_by_registers, "registers");
  add(made.room_by_threads, "threads");
  return fmt::format("room for {}; compiled for {}", fmt::join(rooms, ", "), made.compiled_for);
}

std::string text_of(const Estimated& one, double clock_mhz) {
  if (!one.estimate) return fmt::format("{:<12}family {} makes no estimate\n", "prior", one.config.family());
  const Estimate& made = *one.estimate;
  const auto time = [&](double cycles) { return time_text(cycles, clock_mhz); };
  std::string out = fmt::format("{:<12}{}{}, bound by {}\n", "prior", time(made.cycles),
      clock_mhz > 0 ? fmt::format(" at {:.0f} MHz", clock_mhz) : "", made.bound_by());
  out += fmt::format("{:<12}{:.0f} on {:.0f} SMs, {:.0f} an SM at a time ({}): {:.2f} waves\n", "blocks", made.blocks,
      made.sms, made.resident, room_text(made), made.waves);
  out += fmt::format(
      "{:<12}multiplying {}, shared memory {}, L2 {}, DRAM {}, latency {}, storing {}; beside these launches, "
      "packing and sums of slices {}\n",
      "each alone", time(made.multiplying), time(made.shared_memory), time(made.l2), time(made.dram),
      time(made.latency), time(made.storing), time(made.passes));
  return out;
}

std::string initial_configs_text(const Prior& prior, std::size_t width) {
  TextTable table({">guess", ">estimate", ">waves", ">blocks an SM", "bound by", "config"});
  for (std::size_t i = 0; i < prior.initial_configs.size(); ++i) {
    const auto& [config, made] = prior.initial_configs[i];
    table.add({std::to_string(i + 1), made ? time_text(made->cycles, prior.clock_mhz) : "-",
        made ? fmt::format("{:.2f}", made->waves) : "-", made ? fmt::format("{:.0f}", made->resident) : "-",
        made ? std::string(made->bound_by()) : "-", config.text()});
  }
  return table.empty() ? "" : fmt::format("\n{}", table.text(width));
}

std::string pruned_text(const Prior& prior, std::size_t width) {
  TextTable table({"family", ">combinations", ">against rules", ">refuse it", ">dominated", ">left"});
  TextTable reasons({"family", ">pruned", "because"});
  for (const Pruned& one : prior.pruned) {
    std::int64_t by_rules = 0;
    for (const RuleCount& rule : one.by_rules) by_rules += rule.removed;
    table.add({one.family, format_count(one.combinations), format_count(by_rules), format_count(total(one.refused)),
        format_count(total(one.dominated)), format_count(one.left)});
    for (std::size_t i = 0; i < std::min(kReasons, one.by_rules.size()); ++i)
      reasons.add({one.family, format_count(one.by_rules[i].removed), one.by_rules[i].reason});
    for (const Counted* counts : {&one.refused, &one.dominated}) {
      for (std::size_t i = 0; i < std::min(kReasons, counts->size()); ++i)
        reasons.add({one.family, format_count((*counts)[i].second), (*counts)[i].first});
    }
  }
  return fmt::format("\n{}{}", table.text(width), reasons.empty() ? "" : fmt::format("\n{}", reasons.text(width)));
}

Json json_of(const Estimated& one, double clock_mhz) {
  if (!one.estimate) return {{"config", one.config.text()}, {"estimate", nullptr}};
  const Estimate& made = *one.estimate;
  return {{"config", one.config.text()},
      {"estimate",
          {{"cycles", made.cycles}, {"us", clock_mhz > 0 ? Json(made.cycles / clock_mhz) : Json(nullptr)},
              {"bound_by", made.bound_by()}, {"blocks", made.blocks}, {"sms", made.sms},
              {"blocks_an_sm", made.resident}, {"waves", made.waves},
              {"room_by_shared_memory", made.room_by_shared_memory}, {"room_by_registers", made.room_by_registers},
              {"room_by_threads", made.room_by_threads}, {"multiplying_cycles", made.multiplying},
              {"shared_memory_cycles", made.shared_memory}, {"l2_cycles", made.l2}, {"dram_cycles", made.dram},
              {"latency_cycles", made.latency}, {"storing_cycles", made.storing}, {"passes_cycles", made.passes}}}};
}

Json json_of(const Counted& counts) {
  Json json = Json::array();
  for (const auto& [reason, count] : counts) json.push_back({{"reason", reason}, {"configs", count}});
  return json;
}

}  // namespace

Prior prior_of(const Config& chosen, const InitialConfigsFor& whom, const db::Store& store, const Problem& problem,
    double clock_mhz) {
  const KernelTarget target{problem, whom.limits};
  Prior prior;
  prior.clock_mhz = clock_mhz;
  prior.chosen = {chosen, estimate(chosen, target, problem)};
  for (const Config& guess : InitialConfigSource(whom, store).of(problem, kInitialConfigs).to_try)
    prior.initial_configs.push_back({guess, estimate(guess, target, problem)});
  for (const Family* family : whom.families) {
    if (family->supports(target)) prior.pruned.push_back(pruned_of(*family, target, problem));
  }
  return prior;
}

std::string as_text(const Prior& prior, std::size_t width) {
  return text_of(prior.chosen, prior.clock_mhz) + initial_configs_text(prior, width) + pruned_text(prior, width);
}

Json as_json(const Prior& prior) {
  Json json = json_of(prior.chosen, prior.clock_mhz);
  json["initial_configs"] = Json::array();
  for (const Estimated& guess : prior.initial_configs)
    json["initial_configs"].push_back(json_of(guess, prior.clock_mhz));
  json["pruned"] = Json::array();
  for (const Pruned& one : prior.pruned) {
    Json rules = Json::array();
    for (const RuleCount& rule : one.by_rules)
      rules.push_back({{"rule", rule.rule}, {"reason", rule.reason}, {"combinations", rule.removed}});
    json["pruned"].push_back({{"family", one.family}, {"combinations", one.combinations}, {"by_rules", rules},
        {"refused", json_of(one.refused)}, {"dominated", json_of(one.dominated)}, {"left", one.left}});
  }
  return json;
}

}  // namespace tilesmith::tuner
