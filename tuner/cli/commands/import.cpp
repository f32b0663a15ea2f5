// tilesmith import and merge: records of other files and machines, provenance kept; and logs, as a workload.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "db/files/merge.hpp"
#include "tuner/cli/options/buckets_option.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/commands/import_logs.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/figures.hpp"
#include "tuner/peaks.hpp"

namespace tilesmith::tuner {
namespace {

struct ImportOptions {
  std::vector<std::string> files;
  std::string db;
};

struct Source {
  std::string file;
  db::Store store;
};

/// Every source is read and checked before the database is opened: a bad one leaves nothing behind.
int merge_all(const std::vector<Source>& sources, const std::string& db_given) {
  db::Store into = db::Store::open(database_path_for_writing(db_given));
  std::string report;
  for (const Source& source : sources) {
    const db::MergeResult result = db::merge(into, source.store);
    report += fmt::format("{}: {} entries added, {} known already, {} kernels added\n", source.file, result.added, result.known,
                          result.builds_added);
  }
  write_result(report + fmt::format("into {}\n", into.path().string()));
  return kExitOk;
}

/// Throws UsageError on a time that its device cannot have taken: it would count as a best for ever.
void require_possible(const Source& source) {
  db::RecordFilter right;
  right.status = db::Status::ok;
  for (const db::Record& entry : source.store.records(right)) {
    const auto why = impossible_because(entry.device, entry.problem, entry.outcome.timing->median_us);
    if (!why) continue;
    throw UsageError(fmt::format("{}: {} on {}: {}; expected times that it can take", source.file, text(entry.problem), short_name(entry.device),
                                 *why));
  }
}

int run_import(const ImportOptions& options) {
  std::vector<Source> sources;
  for (const std::string& file : options.files) {
    if (const std::string log = kind_of_log(file); !log.empty())
      throw UsageError(fmt::format("{}: is {}; expected -o FILE, the workload to write", file, log));
    Source source{file, db::Store::in_memory()};
    db::import_file(source.store, file);
    require_possible(source);
    sources.push_back(std::move(source));
  }
  return merge_all(sources, options.db);
}

int run_merge(const ImportOptions& options) {
  std::vector<Source> sources;
  const std::filesystem::path into = database_path(options.db);
  for (const std::string& file : options.files) {
    std::error_code ignored;
    if (std::filesystem::equivalent(file, into, ignored)) {
      throw UsageError(fmt::format("{}: is the database itself; expected another one to merge into it", file));
    }
    sources.push_back({file, db::Store::open_read_only(file)});
    const std::string unsound = sources.back().store.integrity_error();
    if (!unsound.empty()) throw UsageError(fmt::format("{}: corrupt ({}); expected a sound database", file, unsound));
    require_possible(sources.back());
  }
  return merge_all(sources, options.db);
}

}  // namespace

Command add_import(CLI::App& program) {
  CLI::App* app = program.add_subcommand("import", "Add JSON exports, recordings (both may be zstd-compressed) or bundles to a database; or make a workload of logs");
  const auto options = std::make_shared<ImportOptions>();
  const auto logs = std::make_shared<ImportLogsOptions>();
  app->add_option("FILE", options->files, "Files, told apart by their content")->type_name("")->required();
  add_database_option(*app, options->db);
  CLI::Option* output = app->add_option("-o,--output", logs->output,
                                        "The workload file to write: FILEs are logs then, also of several formats (- reads standard input, or writes to stdout)")
                            ->type_name("FILE")->group("Logs")->excludes(app->get_option("--db"));
  app->add_option("--format", logs->format, "The logs' format: " + log_format_names() + "; default: told by their content")
      ->type_name("NAME")->group("Logs")->needs(output);
  add_buckets_option(*app, logs->buckets)->group("Logs")->needs(output);
  app->footer(
      "Provenance (where, when, by which driver and compiler) is kept; entries that are known already are not added again.\n"
      "A time that is far beyond the device's peak, where that is known, is refused. If one file is refused, nothing is imported.\n"
      "\n"
      "With -o a workload is made of logs: cuBLASLt's trace (CUBLASLT_LOG_LEVEL=2), PyTorch's tunableop_untuned0.csv and\n"
      "tunableop_results0.csv, lines of hipblaslt-bench and rocblas-bench (HIPBLASLT_LOG_MASK=32, ROCBLAS_LAYER=2). Weights are calls. What\n"
      "cannot be served is counted by reason on stderr. Wrong and cut lines are left out, a file of mostly wrong lines is refused. A log\n"
      "that does not tell addresses is taken for operands aligned to 16 bytes, one that does not tell beta for beta = 0, one that does not\n"
      "tell a batch's strides for matrices one behind the other.\n"
      "\nExamples:\n"
      "  tilesmith import db/recorded/h200.jsonl.zst --db tuned.db\n"
      "  tilesmith import cublaslt_4711.log tunableop_untuned0.csv -o app.workload");
  return {app, [options, logs] {
            if (logs->output.empty()) return run_import(*options);
            logs->files = options->files;
            return run_import_logs(*logs);
          }};
}

Command add_merge(CLI::App& program) {
  CLI::App* app = program.add_subcommand("merge", "Add the records and kernels of other databases to a database");
  const auto options = std::make_shared<ImportOptions>();
  app->add_option("DB", options->files, "Databases to read; they are not changed")->type_name("")->required();
  add_database_option(*app, options->db);
  app->footer(
      "Nothing is overwritten; entries that are known already are not added again. What is added counts as recorded now, in the order of\n"
      "its database: times are for showing. A time that is far beyond the device's peak, where that is known, is refused.\n"
      "\nExample:\n"
      "  tilesmith merge orin-1.db orin-2.db --db all.db");
  return {app, [options] { return run_merge(*options); }};
}

}  // namespace tilesmith::tuner
