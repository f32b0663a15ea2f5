#include "tuner/cli/output/simulation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

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
  std::size_t landscapes = 0;  // that are large enough
  double mean = 0, tenth = 0, minimum = 0;
};

/// A row: a strategy on one landscape, or the means of its figures over all of them.
struct Row {
  std::string strategy;
  double score = 0;
  double seconds_per_run = 0;
  std::vector<Mark> marks;
};

/// Those up to the last evaluation, and that one.
std::vector<std::size_t> marks_up_to(std::size_t evaluations) {
  std::vector<std::size_t> marks;
  std::copy_if(kMarks.begin(), kMarks.end(), std::back_inserter(marks), [&](std::size_t mark) { return mark < evaluations; });
  marks.push_back(evaluations);
  return marks;
}

Row row_of(const SimulatedStrategy& one, const SimulationOptions& options) {
  Row row{one.name, one.score, one.curve.seconds_per_run, {}};
  for (const std::size_t mark : marks_up_to(options.evaluations)) {
    if (mark > one.curve.mean.size()) continue;
    row.marks.push_back({mark, 1, one.curve.mean[mark - 1], one.curve.tenth[mark - 1], one.curve.minimum[mark - 1]});
  }
  return row;
}

std::vector<Row> rows_of(const SimulatedLandscape& landscape, const SimulationOptions& options) {
  std::vector<Row> rows;
  for (const SimulatedStrategy& one : landscape.strategies) rows.push_back(row_of(one, options));
  return rows;
}

void add(Mark& sum, const Mark& one) {
  sum.landscapes += 1;
  sum.mean += one.mean;
  sum.tenth += one.tenth;
  sum.minimum += one.minimum;
}

/// At each mark of those landscapes that are large enough.
std::vector<Row> means_over(const std::vector<SimulatedLandscape>& landscapes, const SimulationOptions& options) {
  std::vector<Row> means;
  for (std::size_t s = 0; s < landscapes.front().strategies.size(); ++s) {
    Row mean{landscapes.front().strategies[s].name, 0, 0, {}};
    for (const std::size_t mark : marks_up_to(options.evaluations)) mean.marks.push_back({mark});
    for (const SimulatedLandscape& landscape : landscapes) {
      const Row row = row_of(landscape.strategies[s], options);
      mean.score += row.score / double(landscapes.size());
      mean.seconds_per_run += row.seconds_per_run / double(landscapes.size());
      for (std::size_t i = 0; i < row.marks.size(); ++i) add(mean.marks[i], row.marks[i]);
    }
    std::erase_if(mean.marks, [](const Mark& mark) { return mark.landscapes == 0; });
    for (Mark& mark : mean.marks) {
      mark.mean /= double(mark.landscapes);
      mark.tenth /= double(mark.landscapes);
      mark.minimum /= double(mark.landscapes);
    }
    means.push_back(std::move(mean));
  }
  return means;
}

std::string table_of(const std::vector<Row>& rows, std::size_t width) {
  using Align = TextTable::Align;
  std::vector<TextTable::Column> columns{{"strategy"}, {"score", Align::right}};
  for (const Mark& mark : rows.front().marks)
    columns.push_back({fmt::format("after {}", mark.evaluations), Align::right});
  columns.push_back({"ms/run", Align::right});
  TextTable table(columns);
  for (const Row& row : rows) {
    std::vector<std::string> cells{row.strategy, fmt::format("{:.3f}", row.score)};
    for (const Mark& mark : row.marks)
      cells.push_back(fmt::format("{:.3f}/{:.3f}/{:.3f}", mark.mean, mark.tenth, mark.minimum));
    cells.push_back(fmt::format("{:.2f}", 1000 * row.seconds_per_run));
    table.add(std::move(cells));
  }
  return table.text(width);
}

/// Which marks the means are not over all landscapes at.
std::string marks_of_fewer(const Row& row, std::size_t all) {
  std::string text;
  for (const Mark& mark : row.marks) {
    if (mark.landscapes < all)
      text += fmt::format("{}after {}: of {}", text.empty() ? "" : ", ", mark.evaluations, mark.landscapes);
  }
  return text.empty() ? "" : fmt::format(" (smaller ones left out: {})", text);
}

std::string optimum_text(const SimulatedLandscape& landscape) {
  if (!landscape.objective) return format_us(landscape.optimum_us) + " us";
  return fmt::format("{} {:.6g}", landscape.objective->name, landscape.objective->optimum);
}

std::string tables_text(const std::vector<SimulatedLandscape>& landscapes, const SimulationOptions& options,
                        std::size_t width) {
  std::string result;
  for (const SimulatedLandscape& one : landscapes) {
    result += fmt::format("{}: {}, {} ok, optimum {}\n{}\n", one.name, count_of(one.configs, "config"),
                          format_count((long long)(one.ok)), optimum_text(one), table_of(rows_of(one, options), width));
  }
  if (landscapes.size() > 1) {
    const std::vector<Row> means = means_over(landscapes, options);
    result += fmt::format("Mean of {}{}\n{}\n", count_of(landscapes.size(), "landscape"),
                          marks_of_fewer(means.front(), landscapes.size()), table_of(means, width));
  }
  result += fmt::format(
      "{} a strategy, of {} at most, {} at a time. After N evaluations: mean/tenth percentile/minimum of the\n"
      "fraction of the optimum (optimum time / best time so far). Score: 0 is random search, 1 the optimum at once;\n"
      "below 0: random search is better, as it is where a recording holds little but what a search found near the optimum.\n",
      count_of(options.runs, "run"), count_of(options.evaluations, "evaluation"), options.width);
  return result;
}

double rounded(double value) { return std::round(value * 1e6) / 1e6; }

Json record_of(const Row& row, const SimulationOptions& options) {
  Json json;
  json["landscape"] = "mean";
  json["strategy"] = row.strategy;
  for (const char* key : {"landscapes", "configs", "ok", "optimum_us", "evaluations"}) json[key] = nullptr;
  json["runs"] = options.runs;
  json["seed"] = options.seed;
  json["width"] = options.width;
  json["score"] = rounded(row.score);
  std::set<std::size_t> marks(kMarks.begin(), kMarks.end());  // in every file, so that files can be put side by side
  marks.insert(options.evaluations);
  for (const std::size_t mark : marks) {
    const auto found =
        std::find_if(row.marks.begin(), row.marks.end(), [&](const Mark& one) { return one.evaluations == mark; });
    const bool given = found != row.marks.end();
    json[fmt::format("mean_{}", mark)] = given ? Json(rounded(found->mean)) : Json();
    json[fmt::format("tenth_{}", mark)] = given ? Json(rounded(found->tenth)) : Json();
    json[fmt::format("minimum_{}", mark)] = given ? Json(rounded(found->minimum)) : Json();
  }
  json["seconds_per_run"] = rounded(row.seconds_per_run);
  return json;
}

Json records_of(const std::vector<SimulatedLandscape>& landscapes, const SimulationOptions& options) {
  Json records = Json::array();
  for (const SimulatedLandscape& landscape : landscapes) {
    for (const Row& row : rows_of(landscape, options)) {
      Json json = record_of(row, options);
      json["landscape"] = landscape.name;
      json["landscapes"] = 1;
      json["configs"] = landscape.configs;
      json["ok"] = landscape.ok;
      if (!landscape.objective) json["optimum_us"] = rounded(landscape.optimum_us);
      json["evaluations"] = landscape.random.mean.size();
      records.push_back(std::move(json));
    }
  }
  if (landscapes.size() < 2) return records;
  for (const Row& row : means_over(landscapes, options)) {
    Json json = record_of(row, options);
    json["landscapes"] = landscapes.size();
    records.push_back(std::move(json));
  }
  return records;
}

}  // namespace

std::string simulation_report(const std::vector<SimulatedLandscape>& landscapes, const SimulationOptions& options,
                              TextFormat format, std::size_t width) {
  if (format == TextFormat::table) return tables_text(landscapes, options, width);
  const Json records = records_of(landscapes, options);
  if (format == TextFormat::json) return json_text(records);
  std::vector<std::string> columns;
  for (const auto& [key, value] : records.front().items()) columns.push_back(key);
  return to_csv(records, columns);
}

}  // namespace tilesmith::tuner
