// tilesmith compare: what became faster, slower, new or stale between two nights, or between two devices.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "tuner/bests/bests_today.hpp"
#include "tuner/bests/compare.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/commands/comparing.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/cli/output/records.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"

namespace tilesmith::tuner {
namespace {

using Json = nlohmann::ordered_json;

struct CompareCommandOptions {
  std::vector<std::string> databases;  // A, B
  std::string a, b, format = "table", output, within = "2%", changes;
  std::vector<std::string> devices, workloads, types;
  bool json = false, all = false;
};

double parse_within(const std::string& text) {
  double percent = -1;
  std::size_t read = 0;
  try {
    percent = std::stod(text, &read);
  } catch (const std::exception&) {
  }
  const std::string rest = text.substr(read);
  if (!(percent >= 0 && percent <= 100) || (rest != "%" && !rest.empty()))
    throw UsageError(fmt::format("--within '{}': expected percent from 0 to 100, such as 2%", text));
  return percent / 100;
}

std::vector<Change> parse_changes(const std::string& given) {
  std::vector<Change> changes;
  if (given.empty()) return changes;
  for (const std::string& text : split_commas({given})) {
    const auto change = parse_change(text);
    if (!change) throw UsageError(fmt::format("--change '{}': expected slower, stale, gone, unlike, faster, new or same", text));
    changes.push_back(*change);
  }
  return changes;
}

Json side(const std::optional<db::JudgedBest>& best) {
  if (!best) return nullptr;
  Json json = record(best->record, best->candidates, best->ok);
  for (const char* of_problem : {"type", "trans", "m", "n", "k", "lda", "ldb", "ldc", "align_bytes", "beta", "problem"}) json.erase(of_problem);
  json["trust"] = best->trust;
  json["vendor_us"] = best->vendor && best->vendor->first.us > 0 ? Json(best->vendor->first.us) : Json(nullptr);
  json["vendor_best_us"] = best->vendor && best->vendor->best.us > 0 ? Json(best->vendor->best.us) : Json(nullptr);
  return json;
}

Json problem_json(const ComparedProblem& one) {
  const Problem& p = one.problem;
  Json json;
  json["change"] = name(one.change);
  json["problem"] = text(p);
  json["type"] = p.type.name;
  json["trans"] = name(p.trans);
  json["m"] = p.m;
  json["n"] = p.n;
  json["k"] = p.k;
  json["weight"] = one.weight;
  json["speedup"] = one.speedup() > 0 ? Json(one.speedup()) : Json(nullptr);
  json["noise"] = one.noise;
  json["a"] = side(one.a);
  json["b"] = side(one.b);
  json["because"] = one.because().empty() ? Json(nullptr) : Json(one.because());
  return json;
}

/// What scripts read; whole, whatever --change and --all leave out of the table.
Json whole_json(const Comparison& comparison, const CompareCommandOptions& options) {
  Json json;
  json["a"] = options.a;
  json["b"] = options.b;
  json["across_devices"] = comparison.across_devices;
  for (const Change change : kChanges) json["counts"][std::string(name(change))] = comparison.count(change);
  json["compared"] = comparison.compared();
  json["mean_speedup"] = comparison.compared() > 0 ? Json(comparison.mean_speedup()) : Json(nullptr);
  json["weighted_us"] = {{"a", comparison.a_us()}, {"b", comparison.b_us()}};
  json["in_neither"] = comparison.in_neither;
  json["problems"] = Json::array();
  for (const ComparedProblem& one : comparison.problems) json["problems"].push_back(problem_json(one));
  return json;
}

Json flat(const ComparedProblem& one) {
  Json json = problem_json(one);
  const auto add = [&](const char* prefix, const Json& from) {
    for (const char* field : {"device", "median_us", "spread", "trust", "config", "driver_version", "nvrtc_version", "measuring_policy", "created_at"})
      json[fmt::format("{}_{}", prefix, field)] = from.is_null() ? Json(nullptr) : from.at(field);
  };
  const Json a = json["a"], b = json["b"], because = json["because"];
  for (const char* field : {"a", "b", "because"}) json.erase(field);
  add("a", a);
  add("b", b);
  json["because"] = because;
  return json;
}

std::string csv_of(const std::vector<ComparedProblem>& problems) {
  std::vector<std::string> columns;
  ComparedProblem any;
  any.problem.type = type_pairs().front();
  const Json sample = flat(any);
  for (const auto& [key, value] : sample.items()) columns.push_back(key);
  Json rows = Json::array();
  for (const ComparedProblem& one : problems) rows.push_back(flat(one));
  return to_csv(rows, columns);
}

std::string trust_cell(const ComparedProblem& one) {
  if (!one.a || !one.b) return (one.a ? one.a : one.b)->trust;
  return one.a->trust == one.b->trust ? one.b->trust : one.a->trust + " → " + one.b->trust;
}

std::string config_cell(const ComparedProblem& one) {
  if (!one.a || !one.b) return (one.a ? one.a : one.b)->record.config.text();
  const std::string a = one.a->record.config.text(), b = one.b->record.config.text();
  return a == b ? b : a + " → " + b;
}

/// `across`: the lines above the table tell the two devices.
std::string table_of(const std::vector<ComparedProblem>& problems, bool across, std::size_t width) {
  using Align = TextTable::Align;
  const auto other = [&](const ComparedProblem& one) { return !(one.device() == problems.front().device()); };
  const bool devices = !across && std::any_of(problems.begin(), problems.end(), other);
  std::vector<TextTable::Column> columns{{"change"}, {"problem"}, {"A µs", Align::right}, {"B µs", Align::right}, {"A/B", Align::right}, {"noise", Align::right}, {"trust"}};
  if (devices) columns.push_back({"device"});
  columns.push_back({"config"});
  TextTable table(columns);
  table.hang_from(columns.size() - 1);
  for (const ComparedProblem& one : problems) {
    std::vector<std::string> cells{std::string(name(one.change)), text(one.problem), format_us(one.a_us()), format_us(one.b_us()),
                                   one.speedup() > 0 ? fmt::format("{:.3f}", one.speedup()) : "-", fmt::format("±{:.1f}%", 100 * one.noise), trust_cell(one)};
    if (devices) cells.push_back(short_name(one.device()));
    cells.push_back(config_cell(one));
    table.add(std::move(cells));
  }
  return table.text(width, "--format csv");
}

std::string name_of_side(const char* letter, const std::string& file, const std::vector<db::JudgedBest>& bests) {
  std::vector<std::string> devices;
  for (const db::JudgedBest& best : bests) {
    const std::string device = db::text(best.record.device);
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
  }
  const std::string on = devices.size() == 1 ? devices.front() : count_of(devices.size(), "device");
  return fmt::format("{}: {}, {}\n", letter, file, on);
}

int run_compare(CompareCommandOptions options) {
  if (options.databases.size() != 2) throw UsageError(fmt::format("DB: expected two databases, A and B, and not {}", options.databases.size()));
  options.a = options.databases.front();
  options.b = options.databases.back();
  const TextFormat format = options.json ? TextFormat::json : parse_text_format(options.format);
  const std::vector<Change> changes = parse_changes(options.changes);
  CompareOptions how;
  how.within = parse_within(options.within);
  how.workload = workload_to_compare(options.workloads);
  if (options.devices.size() > 2) throw UsageError("--device: expected it once, or twice, A's first");
  const std::string of_a = options.devices.empty() ? "" : options.devices.front(), of_b = options.devices.empty() ? "" : options.devices.back();
  Wanted wanted;
  wanted.types = parse_types(options.types);
  const auto a = bests_to_compare(options.a, of_a, wanted), b = bests_to_compare(options.b, of_b, wanted);
  const Comparison comparison = compared(a, b, how);

  std::vector<ComparedProblem> shown = comparison.problems;
  std::erase_if(shown, [&](const ComparedProblem& one) {
    if (!changes.empty()) return std::find(changes.begin(), changes.end(), one.change) == changes.end();
    return format == TextFormat::table && one.change == Change::same && !options.all;
  });
  const std::size_t width = is_stdout(options.output) ? stdout_width() : 0;
  if (format == TextFormat::json) {
    write_result(json_text(whole_json(comparison, options)), options.output);
  } else if (format == TextFormat::csv) {
    write_result(csv_of(shown), options.output);
  } else {
    std::string text = name_of_side("A", options.a, a) + name_of_side("B", options.b, b);
    if (!shown.empty()) text += table_of(shown, comparison.across_devices, width);
    write_result(text + words_of(comparison) + "\n", options.output);
  }
  say_if_nothing(!comparison.problems.empty());
  return kExitOk;
}

}  // namespace

Command add_compare(CLI::App& program) {
  CLI::App* app = program.add_subcommand("compare", "What became faster, slower, new or stale between two databases: two nights, or two devices");
  const auto options = std::make_shared<CompareCommandOptions>();
  app->add_option("DB", options->databases, "Two databases, which are not changed: A, the earlier night or one device, then B, the later night or the other device")
      ->type_name("")->required();
  app->add_option("--device", options->devices,
                  "Only devices whose text contains this (see `tilesmith devices`); given twice, the first is A's and the second B's")
      ->type_name("TEXT")->allow_extra_args(false)->group("Filters");
  app->add_option("--type", options->types, "Only these type pairs, comma-separated or repeated")->type_name("PAIR,..")->group("Filters");
  app->add_option("--workload", options->workloads, "Only the problems of this workload, a file or the name of a built-in one, with its weights; repeatable")
      ->type_name("FILE|NAME")->allow_extra_args(false)->group("Filters");
  app->add_option("--change", options->changes, "Only these in table and csv: slower, stale, gone, unlike, faster, new, same; comma-separated")
      ->type_name("CHANGE,..")->group("Filters");
  app->add_flag("--all", options->all, "The table has what is the same, too")->group("Filters");
  app->add_option("--within", options->within, "Differences up to this are noise, or more where the two spreads are wider")
      ->type_name("PERCENT")->capture_default_str()->group("Filters");
  app->add_option("--format", options->format, "table, json or csv")->type_name("FORMAT")->capture_default_str()->group("Output");
  app->add_flag("--json", options->json, "The same as --format json")->group("Output");
  app->add_option("-o,--out,--output", options->output, "Write to this file instead of stdout")->type_name("FILE")->group("Output");
  app->footer(
      "A problem's best on each side is what would run today, as `query` shows it; where nothing would, the fastest on record. A/B is A's time\n"
      "over B's: above 1 B is faster.\n"
      "  slower, faster   by more than noise\n"
      "  same             within noise\n"
      "  stale            B has times of it, none of which counts today (trust says why)\n"
      "  gone, new        only A has a time of it, only B has\n"
      "  unlike           the times are of different measuring policies and do not compare; the last line and json's `because` name them\n"
      "Problems are paired on each device. Where each side is of one device, they are paired whatever the device. One database\n"
      "may stand on both sides: --device tells its devices apart. `report --against A.db` draws the same.\n"
      "\nExamples:\n"
      "  tilesmith compare monday.db tuesday.db\n"
      "  tilesmith compare monday.db tuesday.db --workload llama3-8b --change slower --format csv\n"
      "  tilesmith compare all.db all.db --device H100 --device H200 --json");
  return {app, [options] { return run_compare(*options); }};
}

}  // namespace tilesmith::tuner
