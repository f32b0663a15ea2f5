// tilesmith query: what the database knows.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "db/store/store.hpp"
#include "tuner/bests/bests_today.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/options/own_kernel.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/cli/output/records.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/wanted.hpp"

namespace tilesmith::tuner {
namespace {

struct QueryOptions {
  FilterOptions filters;
  std::string kernel, status, sort = "newest", format = "table", sql, output, db;
  bool all = false, retired = false;
  std::string slower_than_vendor;  // empty: no filter
  std::int64_t limit = 0;
};

std::optional<db::Status> status_of(const QueryOptions& options) {
  if (options.status.empty()) return std::nullopt;
  const auto status = db::parse_status(options.status);
  if (!status) {
    throw UsageError(fmt::format("--status '{}': expected one of {}", options.status, db::status_names()));
  }
  return status;
}

/// Whether --sort asks for the fastest first.
bool by_time(const QueryOptions& options, bool all) {
  if (options.sort == "newest") return false;
  if (options.sort != "time") throw UsageError(fmt::format("--sort '{}': expected newest or time", options.sort));
  if (!all) throw UsageError("--sort time: expected --all or --status as well; bests are sorted by problem");
  return true;
}

template <typename Entry>
void keep_first(std::vector<Entry>& entries, std::int64_t limit) {
  if (limit > 0 && std::int64_t(entries.size()) > limit) entries.erase(entries.begin() + limit, entries.end());
}

std::string rendered(
    const nlohmann::ordered_json& records, const std::vector<std::string>& columns, TextFormat format) {
  return format == TextFormat::json ? json_text(records) : to_csv(records, columns);
}

/// Keeps the bests that the vendor was faster than in the same final benchmark, by its first choice or by its best.
void keep_slower_than_vendor(std::vector<db::JudgedBest>& bests, const std::string& by) {
  std::erase_if(bests, [&](const db::JudgedBest& best) {
    if (!best.vendor) return true;
    const double us = by == "first" ? best.vendor->first.us : best.vendor->best.us;
    return !(us > 0 && us < best.record.outcome.timing->median_us);
  });
}

void query_bests(
    const db::Store& store, const Wanted& wanted, const QueryOptions& options, TextFormat format, std::size_t width) {
  BestsToday today = bests_today(store, wanted, options.retired);
  if (!options.slower_than_vendor.empty()) keep_slower_than_vendor(today.bests, options.slower_than_vendor);
  keep_first(today.bests, options.limit);
  if (format != TextFormat::table) {
    write_result(rendered(best_records(today.bests), best_columns(), format), options.output);
  } else {
    write_result(today.bests.empty() ? "" : best_table(today.bests, width), options.output);
  }
  say_if_nothing(!today.bests.empty() || today.without > 0);
  if (!options.retired) say_left_out(today);
}

/// `compile` tries no candidate: what it finds is of kernels, and no records.
void say_what_compile_found(const db::Store& store, std::optional<db::Status> status) {
  const std::string wanted = status ? fmt::format("= '{}'", db::name(*status)) : "<> 'ok'";
  const std::int64_t found =
      db::free_query(store, "SELECT count(*) FROM builds WHERE status " + wanted).rows.at(0).at(0).integer;
  if (status == db::Status::ok || found == 0) return;
  Screen::instance().print_line(
      fmt::format("{} failed in `compile`: query --sql \"SELECT message FROM builds WHERE status {}\"",
          count_of(std::size_t(found), "kernel"), wanted));
}

void query_all(
    const db::Store& store, const Wanted& wanted, const QueryOptions& options, TextFormat format, std::size_t width) {
  db::RecordFilter filter = wanted.filter();
  filter.status = status_of(options);
  if (wanted.is_filter()) filter.limit = options.limit;
  std::vector<db::Record> entries = by_time(options, true) ? db::fastest_first(store, filter) : store.records(filter);
  std::erase_if(entries, [&](const db::Record& entry) { return !wanted.wants(entry); });
  keep_first(entries, options.limit);
  if (format == TextFormat::csv) {
    const std::vector<std::string> columns = record_columns();
    std::string csv = csv_line(columns);  // of the records only one at a time is in memory
    for (const db::Record& entry : entries) csv += csv_line(fields_of(record(entry), columns));
    write_result(csv, options.output);
  } else if (format == TextFormat::json) {
    nlohmann::ordered_json records = nlohmann::ordered_json::array();
    for (const db::Record& entry : entries) records.push_back(record(entry));
    write_result(json_text(records), options.output);
  } else {
    write_result(entries.empty() ? "" : record_table(entries, width), options.output);
  }
  say_if_nothing(!entries.empty());
  if (entries.empty()) say_what_compile_found(store, filter.status);
}

/// Whether the statement may mean the table `best`, for which all records are read.
bool names_best(std::string sql) {
  std::transform(sql.begin(), sql.end(), sql.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return sql.find("best") != std::string::npos;
}

int run_query(const QueryOptions& options) {
  const TextFormat format = parse_text_format(options.format);
  Wanted wanted = options.filters.wanted();
  if (!options.kernel.empty()) wanted.kernels = {own_kernel_name(options.kernel)};
  const bool all = options.all || status_of(options).has_value();
  by_time(options, all);
  if (const std::string& by = options.slower_than_vendor; !by.empty() && by != "first" && by != "best")
    throw UsageError(fmt::format("--slower-than-vendor '{}': expected first or best", by));
  const std::size_t width = is_stdout(options.output) ? stdout_width() : 0;
  const db::Store store = open_to_read(options.db, options.filters.device);
  if (!options.sql.empty()) {
    std::optional<BestsToday> today;
    if (names_best(options.sql)) today = bests_today(store, {}, false);
    write_result(
        sql_result(db::free_query(store, options.sql, today ? &today->bests : nullptr), format, width), options.output);
    return kExitOk;
  }
  require_known_device(store, options.filters.device);
  wanted.know(store.devices());
  if (all) {
    query_all(store, wanted, options, format, width);
  } else {
    query_bests(store, wanted, options, format, width);
  }
  return kExitOk;
}

}  // namespace

Command add_query(CLI::App& program) {
  const auto [app, options, add] =
      new_command<QueryOptions>(program, "query", "Look up the best configs, or all records, in a database");
  add_filter_options(
      add, options->filters, "Only devices whose text contains this, e.g. H200 or sm_87 (see `tilesmith devices`)");
  add("--shape", options->filters.shapes, "MxNxK",
      "Only these shapes (elements), or one number for a cube; four numbers: batches, entries first; repeatable");
  add_kernel_filter(*app, options->kernel);
  CLI::Option* status = add("--status", options->status, "STATUS",
      "All records of this status: ok, mismatch, timed_out, ... (implies --all)");
  CLI::Option* all =
      app->add_flag("--all", options->all, "All records, rather than the best of each problem and device");
  add("--sort", options->sort, "newest|time", "How all records come: newest first, or time, the fastest first");
  add_retired_option(*app, options->retired)->excludes(all)->excludes(status);
  app->add_flag("--slower-than-vendor{first}", options->slower_than_vendor,
         "Only bests that cuBLASLt's first choice was faster than, timed in turn with them by tune; =best: that "
         "the fastest of its algorithms was")
      ->excludes(all)
      ->excludes(status);
  add("--limit", options->limit, "N", "At most this many rows; 0: all")->check(between(0, kMostCount));
  const auto filters = app->get_options([](CLI::Option* option) { return option->get_group() == "Filters"; });
  add.heading("Free query");
  CLI::Option* sql = add("--sql", options->sql, "SELECT..", "One read-only SQL statement instead of filters");
  for (CLI::Option* filter : filters) sql->excludes(filter);
  add.heading("Output");
  add("--format", options->format, "FORMAT", "table, json or csv");
  add("-o,--out,--output", options->output, "FILE", "Write to this file instead of stdout");
  add_database_option(*app, options->db);
  app->footer(
      "Times are medians in microseconds; TFLOP/s counts 2·M·N·K (TOPS for integers). GB/s counts A and B read and D written, once each.\n"
      "peak is the share of the data-sheet rate of what bounds the problem: the multiply units, or the memory where the cell says so;\n"
      "spread is half the interquartile range over the median. Where a table does not fit the terminal, configs go below their\n"
      "lines, and what is wider still is cut; json and csv never are.\n"
      "A best is what would run, as `explain` judges it, on a device that is not here by its newest records; trust says how far\n"
      "its records count: valid, reverify (driver or NVRTC changed), remeasure (a former measuring policy, or a library's trial;\n"
      "none of today's). --sql finds the same bests in the table `best`. While your own database has no records, the bests that ship are\n"
      "read, and a line on stderr says so.\n"
      "vendor is the time of cuBLASLt's first choice in the final benchmark that the best's own time is of, x that over the best's,\n"
      "x best the same of the fastest of its algorithms. Above 1 ours is faster. A best that was timed without it has none.\n"
      "\nExamples:\n"
      "  tilesmith query --type f16f32 --trans NN --device H200\n"
      "  tilesmith query --status mismatch --format json\n"
      "  tilesmith query --slower-than-vendor --device H200\n"
      "  tilesmith query --sql 'SELECT * FROM best LIMIT 5' --format csv");
  return {app, [options = options] { return run_query(*options); }};
}

}  // namespace tilesmith::tuner
