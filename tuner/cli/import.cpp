// tilesmith import and merge: evidence of other files and machines, provenance kept.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

#include "db/merge.hpp"
#include "tuner/cli/command.hpp"
#include "tuner/cli/options.hpp"
#include "tuner/cli/output.hpp"
#include "tuner/figures.hpp"
#include "tuner/peaks.hpp"

namespace tilesmith::tuner {
namespace {

constexpr char kDatabaseStart[] = "SQLite format 3";

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
  db::EvidenceFilter right;
  right.status = db::Status::ok;
  for (const db::Evidence& entry : source.store.evidence(right)) {
    const auto why = impossible_because(entry.device, entry.problem, entry.outcome.timing->median_us);
    if (!why) continue;
    throw UsageError(fmt::format("{}: {} on {}: {}; expected times that it can take", source.file, text(entry.problem), short_name(entry.device),
                                 *why));
  }
}

int run_import(const ImportOptions& options) {
  std::vector<Source> sources;
  for (const std::string& file : options.files) {
    Source source{file, db::Store::in_memory()};
    db::import_file(source.store, file);
    require_possible(source);
    sources.push_back(std::move(source));
  }
  return merge_all(sources, options.db);
}

/// Throws UsageError that points at import, if it is another kind of file than a database.
db::Store open_to_merge(const std::string& file) {
  try {
    return db::Store::open_read_only(file);
  } catch (const db::StoreError& error) {
    std::string start(std::size(kDatabaseStart) - 1, '\0');
    std::ifstream(file, std::ios::binary).read(start.data(), std::streamsize(start.size()));
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(file, ignored) || start == kDatabaseStart) throw;
    throw UsageError(fmt::format("{}; `tilesmith import` reads JSON exports, landscapes and bundles", error.what()));
  }
}

int run_merge(const ImportOptions& options) {
  std::vector<Source> sources;
  const std::filesystem::path into = database_path(options.db);
  for (const std::string& file : options.files) {
    std::error_code ignored;
    if (std::filesystem::equivalent(file, into, ignored)) {
      throw UsageError(fmt::format("{}: is the database itself; expected another one to merge into it", file));
    }
    sources.push_back({file, open_to_merge(file)});
    const std::string unsound = sources.back().store.integrity_error();
    if (!unsound.empty()) throw UsageError(fmt::format("{}: corrupt ({}); expected a sound database", file, unsound));
    require_possible(sources.back());
  }
  return merge_all(sources, options.db);
}

}  // namespace

Command add_import(CLI::App& program) {
  CLI::App* app = program.add_subcommand("import", "Add JSON exports, landscapes (both may be zstd-compressed) or bundles to a database");
  const auto options = std::make_shared<ImportOptions>();
  app->add_option("FILE", options->files, "Files, told apart by their content")->type_name("")->required();
  add_database_option(*app, options->db);
  app->footer(
      "Provenance (where, when, by which driver and compiler) is kept; entries that are known already are not added again.\n"
      "A time that is far beyond the device's peak, where that is known, is refused. If one file is refused, nothing is imported.\n"
      "\nExample:\n"
      "  tilesmith import db/recorded/h200.jsonl.zst --db tuned.db");
  return {app, [options] { return run_import(*options); }};
}

Command add_merge(CLI::App& program) {
  CLI::App* app = program.add_subcommand("merge", "Add the evidence and kernels of other databases to a database");
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
