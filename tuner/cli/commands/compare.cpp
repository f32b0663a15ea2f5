// tilesmith compare: what became faster, slower, new or stale between two nights, or between two devices.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tuner/bests/bests_today.hpp"
#include "tuner/bests/compare.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/cli/output/records.hpp"
#include "tuner/cli/output/table.hpp"
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

double parse_within(std::string_view text) {
  double percent = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  const std::string_view rest = text.substr(std::size_t(end - text.data()));
  if (error == std::errc() && percent >= 0 && percent <= 100 && (rest == "%" || rest.empty())) return percent / 100;
  throw UsageError(fmt::format("--within '{}': expected percent from 0 to 100, such as 2%", text));
}

std::vector<Change> parse_changes(const std::string& given) {
  std::vector<Change> changes;
  if (given.empty()) return changes;
  for (const std::string& text : split_commas({given})) {
    const auto change = parse_change(text);
    if (!change)
      throw UsageError(fmt::format("--change '{}': expected slower, stale, gone, unlike, faster, new or same", text));
    changes.push_back(*change);
  }
  return changes;
}

Json side(const std::optional<db::JudgedBest>& best) {
  if (!best) return nullptr;
  Json json = record(best->record, best->candidates, best->ok);
  for (const char* of_problem : {"type", "trans", "m", "n", "k", "lda", "ldb", "ldc", "align_bytes", "beta", "problem"})
    json.erase(of_problem);
  put_trust(json, *best);
  return json;
}

Json problem_json(const ComparedProblem& one) {
  const Problem& p = one.problem;
  return {{"change", name(one.change)}, {"problem", text(p)}, {"type", p.type.name}, {"trans", name(p.trans)},
      {"m", p.m}, {"n", p.n}, {"k", p.k}, {"weight", one.weight},
      {"speedup", one.speedup() > 0 ? Json(one.speedup()) : Json(nullptr)}, {"noise", one.noise}, {"a", side(one.a)},
      {"b", side(one.b)}, {"because", one.because().empty() ? Json(nullptr) : Json(one.because())}};
}

/// What scripts read; whole, whatever --change and --all leave out of the table.
Json whole_json(const Comparison& comparison, const CompareCommandOptions& options) {
  Json counts, problems = Json::array();
  for (const Change change : kChanges) counts[std::string(name(change))] = comparison.count(change);
  for (const ComparedProblem& one : comparison.problems) problems.push_back(problem_json(one));
  return {{"a", options.a}, {"b", options.b}, {"across_devices", comparison.across_devices}, {"counts", counts},
      {"compared", comparison.compared()},
      {"mean_speedup", comparison.compared() > 0 ? Json(comparison.mean_speedup()) : Json(nullptr)},
      {"weighted_us", {{"a", comparison.a_us()}, {"b", comparison.b_us()}}}, {"in_neither", comparison.in_neither},
      {"problems", problems}};
}

Json flat(const ComparedProblem& one) {
  const Json whole = problem_json(one);
  Json json;
  for (const auto& [key, value] : whole.items()) {
    if (key != "a" && key != "b") {
      json[key] = value;
      continue;
    }
    for (const char* field : {"device", "median_us", "spread", "trust", "config", "driver_version", "nvrtc_version",
             "measuring_policy", "created_at"})
      json[key + "_" + field] = value.is_null() ? Json(nullptr) : value.at(field);
  }
  return json;
}

std::string csv_of(const std::vector<ComparedProblem>& problems) {
  ComparedProblem any;
  any.problem.type = type_pairs().front();
  Json rows = Json::array();
  for (const ComparedProblem& one : problems) rows.push_back(flat(one));
  return to_csv(rows, keys_of(flat(any)));
}

/// Of both sides, if they differ.
std::string cell_of(const ComparedProblem& one, std::string (*text_of)(const db::JudgedBest&)) {
  if (!one.a || !one.b) return text_of(one.a ? *one.a : *one.b);
  const std::string a = text_of(*one.a), b = text_of(*one.b);
  return a == b ? b : a + " → " + b;
}

/// `across`: the lines above the table tell the two devices.
std::string table_of(const std::vector<ComparedProblem>& problems, bool across, std::size_t width) {
  const auto other = [&](const ComparedProblem& one) { return !(one.device() == problems.front().device()); };
  const bool devices = !across && std::any_of(problems.begin(), problems.end(), other);
  std::vector<std::string> titles{"change", "problem", ">A µs", ">B µs", ">A/B", ">noise", "trust"};
  if (devices) titles.push_back("device");
  titles.push_back("config");
  TextTable table(titles);
  table.hang_from(titles.size() - 1);
  for (const ComparedProblem& one : problems) {
    std::vector<std::string> cells{std::string(name(one.change)), text(one.problem), format_us(one.a_us()),
        format_us(one.b_us()), one.speedup() > 0 ? fmt::format("{:.3f}", one.speedup()) : "-",
        fmt::format("±{:.1f}%", 100 * one.noise), cell_of(one, [](const db::JudgedBest& best) { return best.trust; })};
    if (devices) cells.push_back(short_name(one.device()));
    cells.push_back(cell_of(one, [](const db::JudgedBest& best) { return best.record.config.text(); }));
    table.add(std::move(cells));
  }
  return table.text(width, "--format csv");
}

std::string name_of_side(const char* letter, const std::string& file, const std::vector<db::JudgedBest>& bests) {
  std::set<std::string> devices;
  for (const db::JudgedBest& best : bests) devices.insert(db::text(best.record.device));
  const std::string on = devices.size() == 1 ? *devices.begin() : count_of(devices.size(), "device");
  return fmt::format("{}: {}, {}\n", letter, file, on);
}

int run_compare(CompareCommandOptions options) {
  if (options.databases.size() != 2)
    throw UsageError(fmt::format("DB: expected two databases, A and B, and not {}", options.databases.size()));
  options.a = options.databases.front();
  options.b = options.databases.back();
  const TextFormat format = options.json ? TextFormat::json : parse_text_format(options.format);
  const std::vector<Change> changes = parse_changes(options.changes);
  CompareOptions how;
  how.within = parse_within(options.within);
  if (!options.workloads.empty()) how.workload = select_problems({.workloads = options.workloads});
  if (options.devices.size() > 2) throw UsageError("--device: expected it once, or twice, A's first");
  const std::string of_a = options.devices.empty() ? "" : options.devices.front(),
                    of_b = options.devices.empty() ? "" : options.devices.back();
  Wanted wanted;
  wanted.types = parse_types(options.types);
  const auto a = bests_to_compare(options.a, of_a, wanted), b = bests_to_compare(options.b, of_b, wanted);
  const Comparison comparison = compare(a, b, how);

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
  const auto [app, options, add] = new_command<CompareCommandOptions>(
      program, "compare", "What became faster, slower, new or stale between two databases: two nights, or two devices");
  add("DB", options->databases, "",
      "Two databases, which are not changed: A, the earlier night or one device, then B, "
      "the later night or the other device")
      ->required();
  add.heading("Filters");
  add("--device", options->devices, "TEXT",
      "Only devices whose text contains this (see `tilesmith devices`); given twice, the first is A's and the second "
      "B's")
      ->allow_extra_args(false);
  add("--type", options->types, "PAIR,..", "Only these type pairs, comma-separated or repeated");
  add("--workload", options->workloads, "FILE|NAME",
      "Only the problems of this workload, a file or the name of a built-in one, with its weights; repeatable")
      ->allow_extra_args(false);
  add("--change", options->changes, "CHANGE,..",
      "Only these in table and csv: slower, stale, gone, unlike, faster, new, same; comma-separated");
  app->add_flag("--all", options->all, "The table has what is the same, too");
  add("--within", options->within, "PERCENT",
      "Differences up to this are noise, or more where the two spreads are wider");
  add.heading("Output");
  add("--format", options->format, "FORMAT", "table, json or csv");
  app->add_flag("--json", options->json, "The same as --format json");
  add("-o,--out,--output", options->output, "FILE", "Write to this file instead of stdout");
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
  return {app, [options = options] { return run_compare(*options); }};
}

}  // namespace tilesmith::tuner
