// tilesmith query: what the database knows.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "tuner/commands/command.hpp"
#include "tuner/commands/options.hpp"
#include "tuner/commands/output.hpp"
#include "tuner/commands/records.hpp"
#include "tuner/commands/terminal.hpp"

namespace tilesmith::tuner {
namespace {

struct QueryOptions {
  std::vector<std::string> types, trans, shapes, families;
  std::string device, status, format = "table", sql, output, db;
  bool all = false;
  std::int64_t limit = 0;
};

/// The options, checked. Lists match if any member does; empty lists match everything.
struct Query {
  std::vector<TypePair> types;
  std::vector<Transposes> trans;
  std::vector<Shape> shapes;
  std::vector<std::string> families;
  db::EvidenceFilter filter;  // what the store can select by itself

  bool matches(const db::Evidence& entry) const {
    const auto among = [](const auto& list, const auto& is) {
      return list.empty() || std::any_of(list.begin(), list.end(), is);
    };
    const Problem& p = entry.problem;
    return among(types, [&](const TypePair& type) { return type == p.type; }) &&
           among(trans, [&](Transposes t) { return t == p.trans; }) &&
           among(shapes, [&](const Shape& s) { return s.m == p.m && s.n == p.n && s.k == p.k; }) &&
           among(families, [&](const std::string& family) { return family == entry.config.family(); });
  }
};

Query parse_query(const QueryOptions& options) {
  Query query;
  query.types = parse_types(options.types);
  query.trans = parse_trans(options.trans);
  for (const std::string& text : split_commas(options.shapes)) query.shapes.push_back(parse_shape(text));
  query.families = parse_families(options.families);
  db::EvidenceFilter& filter = query.filter;
  if (query.types.size() == 1) filter.type = std::string(query.types.front().name);
  if (query.trans.size() == 1) filter.trans = query.trans.front();
  if (query.families.size() == 1) filter.family = query.families.front();
  if (query.shapes.size() == 1) {
    filter.m = query.shapes.front().m;
    filter.n = query.shapes.front().n;
    filter.k = query.shapes.front().k;
  }
  if (!options.device.empty()) filter.device = options.device;
  if (!options.status.empty()) {
    filter.status = db::parse_status(options.status);
    if (!filter.status) {
      throw UsageError(fmt::format("--status '{}': expected ok, illegal, compile_failed, spilled, launch_failed, timed_out, "
                                   "device_fault or mismatch", options.status));
    }
  }
  return query;
}

template <typename Entry, typename EvidenceOf>
void keep_matching(std::vector<Entry>& entries, const Query& query, std::int64_t limit, EvidenceOf&& evidence_of) {
  std::erase_if(entries, [&](const Entry& entry) { return !query.matches(evidence_of(entry)); });
  if (limit > 0 && std::int64_t(entries.size()) > limit) entries.erase(entries.begin() + limit, entries.end());
}

std::string rendered(const nlohmann::ordered_json& records, TextFormat format) {
  return format == TextFormat::json ? records.dump(1) + "\n" : to_csv(records, record_columns());
}

int run_query(const QueryOptions& options) {
  const TextFormat format = parse_text_format(options.format);
  const Query query = parse_query(options);
  const std::size_t width = options.output.empty() ? stdout_width() : 0;
  const db::Store store = db::Store::open_read_only(database_path(options.db));
  if (!options.sql.empty()) {
    write_result(sql_result(store.query(options.sql), format, width), options.output);
    return kExitOk;
  }
  nlohmann::ordered_json records = nlohmann::ordered_json::array();
  std::string table;
  std::size_t found = 0;
  if (options.all || !options.status.empty()) {
    std::vector<db::Evidence> entries = store.evidence(query.filter);
    keep_matching(entries, query, options.limit, [](const db::Evidence& e) -> const db::Evidence& { return e; });
    for (const db::Evidence& entry : entries) records.push_back(record(entry));
    table = evidence_table(entries, width);
    found = entries.size();
  } else {
    std::vector<db::Best> bests = store.best(query.filter);
    keep_matching(bests, query, options.limit, [](const db::Best& best) -> const db::Evidence& { return best.evidence; });
    for (const db::Best& best : bests) records.push_back(record(best.evidence, best.candidates, best.ok));
    table = best_table(bests, width);
    found = bests.size();
  }
  if (format != TextFormat::table) {
    write_result(rendered(records, format), options.output);
  } else if (found == 0) {
    write_result("no entry matches\n", options.output);
  } else {
    write_result(table, options.output);
  }
  return kExitOk;
}

}  // namespace

Command add_query(CLI::App& program) {
  CLI::App* app = program.add_subcommand("query", "Look up the best configs, or all evidence, in a database");
  const auto options = std::make_shared<QueryOptions>();
  app->add_option("--type", options->types, "Only these type pairs, comma-separated or repeated")->type_name("PAIR,..")->group("Filters");
  app->add_option("--trans", options->trans, "Only these transposes: NN, NT, TN, TT")->type_name("TRANS,..")->group("Filters");
  app->add_option("--shape", options->shapes, "Only these shapes (elements), or one number for a cube; repeatable")
      ->type_name("MxNxK")->group("Filters");
  app->add_option("--device", options->device, "Only devices whose text contains this, e.g. H200 or sm_87 (see `tilesmith devices`)")
      ->type_name("TEXT")->group("Filters");
  app->add_option("--family", options->families, "Only configs of these families; of bests, those where one of them is best")
      ->type_name("NAME,..")->group("Filters");
  app->add_option("--status", options->status, "All evidence of this status: ok, mismatch, timed_out, ... (implies --all)")
      ->type_name("STATUS")->group("Filters");
  app->add_flag("--all", options->all, "All evidence, newest first, rather than the best of each problem and device")->group("Filters");
  app->add_option("--limit", options->limit, "At most this many rows; 0: all")
      ->type_name("N")->capture_default_str()->check(CLI::Range(std::int64_t{0}, kMostCount).description(""))->group("Filters");
  app->add_option("--sql", options->sql, "One read-only SQL statement instead of filters")->type_name("SELECT..")->group("Free query");
  app->add_option("--format", options->format, "table, json or csv")->type_name("FORMAT")->capture_default_str()->group("Output");
  app->add_option("-o,--output", options->output, "Write to this file instead of stdout")->type_name("FILE")->group("Output");
  add_database_option(*app, options->db);
  app->footer(
      "Times are medians in microseconds; TFLOP/s counts 2·M·N·K (TOPS for integers); spread is half the interquartile range\n"
      "over the median; peak is the device's dense data-sheet rate. Tables are cut to the terminal's width; json and csv never.\n"
      "\nExamples:\n"
      "  tilesmith query --type f16f32 --trans NN --device H200\n"
      "  tilesmith query --status mismatch --format json\n"
      "  tilesmith query --sql 'SELECT * FROM best LIMIT 5' --format csv");
  return {app, [options] { return run_query(*options); }};
}

}  // namespace tilesmith::tuner
