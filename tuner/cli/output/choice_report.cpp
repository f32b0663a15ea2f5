#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tuner/cli/output/records.hpp"
#include "tuner/cli/output/simulation_report.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/figures.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kWorst = 5;

std::string_view name(ChoosingBy by) {
  switch (by) {
    case ChoosingBy::other_shapes: return "other shapes";
    case ChoosingBy::no_records: return "no records";
    case ChoosingBy::sisters: return "sisters";
  }
  return "?";
}

std::vector<SimulatedChoice> worst_first(std::vector<SimulatedChoice> choices) {
  std::erase_if(choices, [](const SimulatedChoice& one) { return one.us <= 0; });
  std::ranges::stable_sort(choices, {}, &SimulatedChoice::of_best);
  return choices;
}

std::vector<std::string> means_of(const SimulatedChoices& one) {
  const std::vector<SimulatedChoice> judged = worst_first(one.choices);
  double logs = 0;
  std::size_t first = 0, generic = 0;
  for (const SimulatedChoice& choice : judged) {
    logs += std::log(choice.of_best());
    first += choice.place == 0;
  }
  for (const SimulatedChoice& choice : one.choices) generic += choice.generic;
  std::vector<std::string> cells{one.recording, std::string(name(one.by)), std::to_string(one.choices.size())};
  if (judged.empty()) {
    cells.insert(cells.end(), 4, "-");
  } else {
    const double count = double(judged.size());
    for (const double of_best :
        {std::exp(logs / count), judged[judged.size() / 10].of_best(), judged.front().of_best()})
      cells.push_back(fmt::format("{:.3f}", of_best));
    cells.push_back(format_percent(double(first) / count));
  }
  cells.insert(cells.end(), {std::to_string(one.choices.size() - judged.size()), std::to_string(generic)});
  return cells;
}

std::string as_table(const std::vector<SimulatedChoices>& all, std::size_t width) {
  TextTable means({"recording", "chosen by", ">problems", ">mean", ">10%", ">lowest", ">first recorded", ">not judged",
      ">generic"});
  TextTable worst({"chosen by", ">of best", "problem", "config"});
  for (const SimulatedChoices& one : all) {
    means.add(means_of(one));
    const std::vector<SimulatedChoice> judged = worst_first(one.choices);
    for (std::size_t i = 0; i < std::min(kWorst, judged.size()); ++i)
      worst.add({std::string(name(one.by)), fmt::format("{:.3f}", judged[i].of_best()), text(judged[i].problem),
          judged[i].config.text()});
  }
  return means.text(width) + "\n" + worst.text(width);
}

}  // namespace

std::string choice_report(const std::vector<SimulatedChoices>& all, TextFormat format, std::size_t width) {
  if (format == TextFormat::table) return as_table(all, width);
  nlohmann::ordered_json records = nlohmann::ordered_json::array();
  for (const SimulatedChoices& one : all) {
    for (const SimulatedChoice& choice : one.choices) {
      records.push_back({{"recording", one.recording}, {"chosen_by", name(one.by)}, {"problem", text(choice.problem)},
          {"config", choice.config.text()}, {"place", choice.place}, {"generic", choice.generic}, {"us", choice.us},
          {"best_us", choice.best_us}, {"of_best", choice.of_best()}});
    }
  }
  if (format == TextFormat::json) return json_text(records);
  return to_csv(
      records, {"recording", "chosen_by", "problem", "config", "place", "generic", "us", "best_us", "of_best"});
}

}  // namespace tilesmith::tuner
