// tilesmith import and merge: records of other files and machines, provenance kept; and logs, as a workload.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "db/files/merge.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/figures.hpp"
#include "tuner/logs/read_log.hpp"
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
    report += fmt::format("{}: {} entries added, {} known already, {} kernels added\n", source.file, result.added,
        result.known, result.builds_added);
  }
  write_result(report + fmt::format("into {}\n", into.path().string()));
  return kExitOk;
}

/// Throws UsageError on a time that its device cannot have taken: it would count as a best for ever.
void require_possible(const Source& source) {
  db::RecordFilter right;
  right.status = db::Status::ok;
  for (const db::Record& entry : source.store.records(right)) {
    if (!entry.task.is_gemm()) continue;
    const auto why = impossible_because(entry.device, entry.task.problem(), entry.outcome.timing->median_us);
    if (!why) continue;
    throw UsageError(fmt::format("{}: {} on {}: {}; expected times that it can take", source.file, text(entry.task),
        short_name(entry.device), *why));
  }
}

struct ImportLogsOptions {
  std::vector<std::string> files;  // "-": standard input
  std::string output, format, buckets = kDefaultBuckets;
};

/// "cublaslt, tunableop or rocm".
std::string log_format_names() {
  std::string text;
  const auto formats = log_formats();
  for (std::size_t i = 0; i < formats.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == formats.size() ? " or " : ", ", formats[i].name);
  return text;
}

constexpr std::size_t kBeginning = 65536;  // bytes that tell a log from another file

const LogFormat* format_given(const std::string& name) {
  if (name.empty()) return nullptr;
  const LogFormat* format = find_log_format(name);
  if (format == nullptr)
    throw UsageError(fmt::format("--format '{}': unknown format; expected {}", name, log_format_names()));
  return format;
}

ReadLog read_file_of_log(const std::string& file, const LogFormat* format) {
  try {
    if (file == "-") return read_log(std::cin, "standard input", format);
    std::error_code ignored;
    std::ifstream in(file, std::ios::binary);
    if (!in || std::filesystem::is_directory(file, ignored))
      throw UsageError(fmt::format("{}: cannot be read, expected a log", file));
    return read_log(in, file, format);
  } catch (const LogError& error) {
    throw UsageError(error.what());
  }
}

void require_other_file(const ImportLogsOptions& options) {
  for (const std::string& file : options.files) {
    std::error_code ignored;
    if (std::filesystem::equivalent(file, options.output, ignored))
      throw UsageError(fmt::format("-o {}: is one of the logs; expected another file", options.output));
  }
}

/// What kind of log a file is, "cuBLASLt's trace (..)"; empty: none, as far as its beginning tells.
std::string kind_of_log(const std::string& file) {
  if (std::error_code ignored; !std::filesystem::is_regular_file(file, ignored))
    return "";  // what is read of a pipe is gone
  std::ifstream in(file, std::ios::binary);
  std::string beginning(kBeginning, '\0');
  in.read(beginning.data(), std::streamsize(beginning.size()));
  beginning.resize(std::size_t(in.gcount()));
  std::istringstream lines(beginning.substr(0, beginning.rfind('\n') + 1));
  try {
    return std::string(read_log(lines, file).format->is);
  } catch (const LogError&) {
    return "";
  }
}

/// Reads all of them before the workload is written.
int run_import_logs(const ImportLogsOptions& options) {
  const LogFormat* const format = format_given(options.format);
  const cublas::Buckets buckets = buckets_given(options.buckets);
  if (!is_stdout(options.output)) require_writable(options.output, "--output");
  require_other_file(options);
  Calls calls;
  std::string said;
  for (const std::string& file : options.files) {
    const ReadLog log = read_file_of_log(file, format);
    for (const std::string& note : log.notes) spdlog::warn("{}", note);
    said += fmt::format("{}: {}, {}, {}", file, log.format->name, count_of(log.calls.count(), "call"),
        count_of(log.passed_over, "other line"));
    said += log.wrong == 0 ? "\n" : fmt::format(", {}\n", count_of(log.wrong, "wrong line"));
    calls.add(log.calls);
  }
  const cublas::WorkloadText made = cublas::workload_text(calls.problems(), buckets,
      "calls that `tilesmith import` read in logs", {tilesmith_problem_text, tilesmith_last_error});
  for (const auto& [why, times] : calls.left_out()) spdlog::warn("{} left out: {}", count_of(times, "call"), why);
  for (const auto& [field, one] : made.left_out) spdlog::warn("{} left out: {}", count_of(one.calls, "call"), one.why);
  if (made.problems == 0)
    throw UsageError(fmt::format("no call that can be served; {} was not written", options.output));
  write_result(made.text, options.output);
  if (is_stdout(options.output)) return kExitOk;
  said += fmt::format("{}: {} of {}", options.output, count_of(made.problems, "problem"), count_of(made.calls, "call"));
  if (made.families > 0)
    said += fmt::format("; {} of several M, {} added",
        made.families == 1 ? "1 family" : format_count(made.families) + " families", count_of(made.added, "size"));
  write_result(said + "\n");
  return kExitOk;
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
  const auto [app, options, add] = new_command<ImportOptions>(program, "import",
      "Add JSON exports, recordings (both may be zstd-compressed) or bundles to a database; "
      "or make a workload of logs");
  const auto logs = std::make_shared<ImportLogsOptions>();
  add("FILE", options->files, "", "Files, told apart by their content")->required();
  add_database_option(*app, options->db);
  add.heading("Logs");
  CLI::Option* output = add("-o,--output", logs->output, "FILE",
      "The workload file to write: FILEs are logs then, also of several formats (- reads "
      "standard input, or writes to stdout)")
                            ->excludes(app->get_option("--db"));
  add("--format", logs->format, "NAME", "The logs' format: " + log_format_names() + "; default: told by their content")
      ->needs(output);
  add_buckets_option(*app, logs->buckets)->needs(output);
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
  return {app, [options = options, logs] {
            if (logs->output.empty()) return run_import(*options);
            logs->files = options->files;
            return run_import_logs(*logs);
          }};
}

Command add_merge(CLI::App& program) {
  const auto [app, options, add] =
      new_command<ImportOptions>(program, "merge", "Add the records and kernels of other databases to a database");
  add("DB", options->files, "", "Databases to read; they are not changed")->required();
  add_database_option(*app, options->db);
  app->footer(
      "Nothing is overwritten; entries that are known already are not added again. What is added counts as recorded now, in the order of\n"
      "its database: times are for showing. A time that is far beyond the device's peak, where that is known, is refused.\n"
      "\nExample:\n"
      "  tilesmith merge orin-1.db orin-2.db --db all.db");
  return {app, [options = options] { return run_merge(*options); }};
}

}  // namespace tilesmith::tuner
