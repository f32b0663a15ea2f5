#include "tuner/cli/output/simulation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "tuner/cli/output/records.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/figures.hpp"

namespace tilesmith::tuner {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::size_t, 5> kMarks{25, 50, 100, 200, 400};  // evaluations at which figures are given

/// What was reached after that many evaluations.
struct Mark {
  std::size_t evaluations = 0;
  std::size_t recordings = 0;  // that are large enough
  double mean = 0, tenth = 0, minimum = 0;
};
constexpr std::array kFigures{&Mark::mean, &Mark::tenth, &Mark::minimum};

/// A row: a strategy on one recording, or the means of its figures over all of them.
struct Row {
  std::string strategy;
  std::size_t recordings = 0;
  double score = 0;
  double seconds_per_run = 0;
  std::vector<Mark> marks;
};

bool is_theirs(const Row& row) { return row.strategy.starts_with(kKernelTunerPrefix); }

/// Those up to the last evaluation, and that one.
std::vector<std::size_t> marks_up_to(std::size_t evaluations) {
  std::vector<std::size_t> marks(kMarks.begin(), std::ranges::lower_bound(kMarks, evaluations));
  marks.push_back(evaluations);
  return marks;
}

Row row_of(const SimulatedStrategy& one, const SimulationOptions& options) {
  Row row{one.name, 1, one.score, one.curve.seconds_per_run, {}};
  for (const std::size_t mark : marks_up_to(options.evaluations)) {
    if (mark > one.curve.mean.size()) continue;
    row.marks.push_back({mark, 1, one.curve.mean[mark - 1], one.curve.tenth[mark - 1], one.curve.minimum[mark - 1]});
  }
  return row;
}

std::vector<Row> rows_of(const SimulatedRecording& recording, const SimulationOptions& options) {
  std::vector<Row> rows;
  for (const SimulatedStrategy& one : recording.strategies) {
    if (!one.curve.mean.empty()) rows.push_back(row_of(one, options));
  }
  return rows;
}

/// At each mark of those recordings that are large enough.
std::vector<Row> means_over(const std::vector<SimulatedRecording>& recordings, const SimulationOptions& options) {
  std::vector<Row> means;
  for (std::size_t s = 0; s < recordings.front().strategies.size(); ++s) {
    Row mean{recordings.front().strategies[s].name, 0, 0, 0, {}};
    for (const std::size_t mark : marks_up_to(options.evaluations)) mean.marks.push_back({mark});
    for (const SimulatedRecording& recording : recordings) {
      if (recording.strategies[s].curve.mean.empty()) continue;
      const Row row = row_of(recording.strategies[s], options);
      mean.recordings += 1;
      mean.score += row.score;
      mean.seconds_per_run += row.seconds_per_run;
      for (std::size_t i = 0; i < row.marks.size(); ++i) {
        mean.marks[i].recordings += 1;
        for (const auto figure : kFigures) mean.marks[i].*figure += row.marks[i].*figure;
      }
    }
    if (mean.recordings == 0) continue;
    mean.score /= double(mean.recordings);
    mean.seconds_per_run /= double(mean.recordings);
    std::erase_if(mean.marks, [](const Mark& mark) { return mark.recordings == 0; });
    for (Mark& mark : mean.marks) {
      for (const auto figure : kFigures) mark.*figure /= double(mark.recordings);
    }
    means.push_back(std::move(mean));
  }
  return means;
}

std::string table_of(const std::vector<Row>& rows, std::size_t width) {
  std::vector<std::string> titles{"strategy", ">score"};
  for (const Mark& mark : rows.front().marks) titles.push_back(fmt::format(">after {}", mark.evaluations));
  titles.push_back(">ms/run");
  TextTable table(std::move(titles));
  for (const Row& row : rows) {
    std::vector<std::string> cells{row.strategy, fmt::format("{:.3f}", row.score)};
    for (const Mark& mark : row.marks)
      cells.push_back(fmt::format("{:.3f}/{:.3f}/{:.3f}", mark.mean, mark.tenth, mark.minimum));
    cells.push_back(fmt::format("{:.2f}", 1000 * row.seconds_per_run));
    table.add(std::move(cells));
  }
  return table.text(width);
}

/// Which marks the means are not over all recordings at.
std::string marks_of_fewer(const Row& row, std::size_t all) {
  std::vector<std::string> texts;
  for (const Mark& mark : row.marks) {
    if (mark.recordings < all) texts.push_back(fmt::format("after {}: of {}", mark.evaluations, mark.recordings));
  }
  return texts.empty() ? "" : fmt::format(" (smaller ones left out: {})", fmt::join(texts, ", "));
}

std::string optimum_text(const SimulatedRecording& recording) {
  if (!recording.objective) return format_us(recording.optimum_us) + " us";
  return fmt::format("{} {:.6g}", recording.objective->name, recording.objective->optimum);
}

std::string tables_text(
    const std::vector<SimulatedRecording>& recordings, const SimulationOptions& options, std::size_t width) {
  std::string result;
  for (const SimulatedRecording& one : recordings) {
    result += fmt::format("{}: {}, {} ok, optimum {}\n{}\n", one.name, count_of(one.configs, "config"),
        format_count(one.ok), optimum_text(one), table_of(rows_of(one, options), width));
  }
  if (recordings.size() > 1) {
    const std::vector<Row> means = means_over(recordings, options);
    result += fmt::format("Mean of {}{}\n{}\n", count_of(recordings.size(), "recording"),
        marks_of_fewer(means.front(), recordings.size()), table_of(means, width));
  }
  result += fmt::format(
      "{} a strategy, of {} at most, {} at a time. After N evaluations: mean/tenth percentile/minimum of the\n"
      "fraction of the optimum (optimum time / best time so far). Score: 0 is random search, 1 the optimum at once;\n"
      "below 0: random search is better, as it is where a recording holds little but what a search found near the optimum.\n",
      count_of(options.runs, "run"), count_of(options.evaluations, "evaluation"), options.width);
  return result;
}

double rounded(double value) { return std::round(value * 1e6) / 1e6; }

/// Keys that are of a single recording are null.
Json record_of(const Row& row, const SimulationOptions& options) {
  Json json{{"recording", "mean"}, {"strategy", row.strategy}, {"recordings", row.recordings}, {"configs", nullptr},
      {"ok", nullptr}, {"optimum_us", nullptr}, {"evaluations", nullptr}, {"runs", options.runs},
      {"seed", options.seed}, {"width", options.width}, {"score", rounded(row.score)}};
  std::set<std::size_t> marks(kMarks.begin(), kMarks.end());  // in every file, so that files can be put side by side
  marks.insert(options.evaluations);
  for (const std::size_t mark : marks) {
    const auto found = std::ranges::find(row.marks, mark, &Mark::evaluations);
    const auto put = [&](const char* name, double Mark::*figure) {
      json[fmt::format("{}_{}", name, mark)] = found == row.marks.end() ? Json() : Json(rounded((*found).*figure));
    };
    put("mean", &Mark::mean);
    put("tenth", &Mark::tenth);
    put("minimum", &Mark::minimum);
  }
  json["seconds_per_run"] = rounded(row.seconds_per_run);
  return json;
}

Json records_of(const std::vector<SimulatedRecording>& recordings, const SimulationOptions& options) {
  Json records = Json::array();
  for (const SimulatedRecording& recording : recordings) {
    for (const Row& row : rows_of(recording, options)) {
      Json json = record_of(row, options);
      json["recording"] = recording.name;
      json["configs"] = recording.configs;
      json["ok"] = recording.ok;
      if (!recording.objective) json["optimum_us"] = rounded(recording.optimum_us);
      json["evaluations"] = recording.random.mean.size();
      records.push_back(std::move(json));
    }
  }
  if (recordings.size() < 2) return records;
  for (const Row& row : means_over(recordings, options)) {
    records.push_back(record_of(row, options));
  }
  return records;
}

constexpr std::size_t kWorst = 5;

std::string_view name(ChoosingBy by) {
  constexpr std::string_view kNames[] = {"other shapes", "no records", "sisters"};
  return kNames[std::size_t(by)];
}

std::vector<SimulatedChoice> worst_first(std::vector<SimulatedChoice> choices) {
  std::erase_if(choices, [](const SimulatedChoice& one) { return one.us <= 0; });
  std::ranges::stable_sort(choices, {}, &SimulatedChoice::of_best);
  return choices;
}

std::vector<std::string> mean_cells(const SimulatedChoices& one) {
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

std::string choices_table(const std::vector<SimulatedChoices>& all, std::size_t width) {
  TextTable means({"recording", "chosen by", ">problems", ">mean", ">10%", ">lowest", ">first recorded", ">not judged",
      ">generic"});
  TextTable worst({"chosen by", ">of best", "problem", "config"});
  for (const SimulatedChoices& one : all) {
    means.add(mean_cells(one));
    const std::vector<SimulatedChoice> judged = worst_first(one.choices);
    for (std::size_t i = 0; i < std::min(kWorst, judged.size()); ++i)
      worst.add({std::string(name(one.by)), fmt::format("{:.3f}", judged[i].of_best()), text(judged[i].problem),
          judged[i].config.text()});
  }
  return means.text(width) + "\n" + worst.text(width);
}

}  // namespace

std::string simulation_report(const std::vector<SimulatedRecording>& recordings, const SimulationOptions& options,
    TextFormat format, std::size_t width) {
  if (format == TextFormat::table) return tables_text(recordings, options, width);
  const Json records = records_of(recordings, options);
  if (format == TextFormat::json) return json_text(records);
  return to_csv(records, keys_of(records.front()));
}

std::string beside_report(
    const std::vector<SimulatedRecording>& recordings, const SimulationOptions& options, std::size_t width) {
  const std::vector<std::size_t> marks = marks_up_to(options.evaluations);
  std::vector<std::string> titles{"recording", "strategy"};
  for (const std::size_t mark : marks) titles.push_back(fmt::format(">after {} ", mark));
  titles.emplace_back(">CPU s/run");
  TextTable table(std::move(titles));
  const auto add = [&](std::string name, const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      std::vector<std::string> cells{std::exchange(name, ""), row.strategy};
      for (std::size_t i = 0; i < row.marks.size(); ++i) {
        const auto is_better = [&](const Row& other) {
          return is_theirs(other) == is_theirs(row) && i < other.marks.size() &&
                 other.marks[i].mean > row.marks[i].mean;
        };
        cells.push_back(fmt::format("{:.3f}{}", row.marks[i].mean, std::ranges::any_of(rows, is_better) ? " " : "*"));
      }
      cells.resize(2 + marks.size());  // of a small recording the last are empty
      cells.push_back(fmt::format("{:.3f}", row.seconds_per_run));
      table.add(std::move(cells));
    }
  };
  for (const SimulatedRecording& recording : recordings) add(recording.name, rows_of(recording, options));
  std::vector<Row> means = means_over(recordings, options);
  for (Row& mean : means) {
    if (mean.recordings < recordings.size()) mean.strategy += fmt::format(" (of {})", mean.recordings);
  }
  if (recordings.size() > 1) add("mean of " + std::to_string(recordings.size()), means);
  return table.text(width) +
         fmt::format(
             "Mean fraction of the optimum after N distinct configs; {} a strategy.{} {} is Kernel Tuner's.\n"
             "* marks the best of ours, and the best of Kernel Tuner's.\n",
             count_of(options.runs, "run"), marks_of_fewer(means.front(), recordings.size()), kKernelTunerPrefix);
}

std::string choice_report(const std::vector<SimulatedChoices>& all, TextFormat format, std::size_t width) {
  if (format == TextFormat::table) return choices_table(all, width);
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
