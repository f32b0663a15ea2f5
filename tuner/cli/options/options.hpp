// Options that several commands share, and the checks of what they were given.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/family.hpp"
#include "kernels/problem/problem.hpp"
#include "tuner/wanted.hpp"
#include "tuner/workload.hpp"

namespace CLI { class App; class Option; }

namespace tilesmith::tuner {

/// The largest number that options which count something take.
inline constexpr std::int64_t kMostCount = 1'000'000'000'000;

/// Which problems a command works on: --type, --trans, --shape, --with, --workload.
struct ProblemOptions {
  std::vector<std::string> types;     ///< each may be a comma list
  std::vector<std::string> trans;     ///< each may be a comma list; "all"
  std::vector<std::string> shapes;    ///< "MxNxK" or "S" for a cube
  std::vector<std::string> with;      ///< "beta=any", "epilogue=bias_n+gelu": fields of all shapes; each may be a comma list
  std::vector<std::string> workloads; ///< files or built-in names
};
void add_problem_options(CLI::App& app, ProblemOptions& options);

/// What add_problem_options explains in --help: shapes are crossed with types and transposes (f16f32 and NN if none is
/// named); of workloads, those problems are kept whose type and transposes are named (all if none is); without shapes
/// and workloads the built-in workload `fallback` is taken. Throws UsageError or WorkloadError, also when nothing is left.
Workload select_problems(const ProblemOptions& options, std::string_view fallback = "quick");

/// The problem with these fields, as --with gives them. Throws UsageError.
Problem with_fields(const Problem& problem, const std::vector<std::string>& fields);

/// "f16f32,bf16f32" → pairs. `option` names the option in errors.
std::vector<TypePair> parse_types(const std::vector<std::string>& texts, std::string_view option = "--type");
std::vector<Transposes> parse_trans(const std::vector<std::string>& texts, std::string_view option = "--trans");

Shape parse_shape(std::string_view text, std::string_view option = "--shape");

/// "90s", "10m", "2h30m", "1d", "500ms"; a bare number is seconds. Positive.
std::chrono::duration<double> parse_duration(std::string_view text, std::string_view option);

/// Names of families, checked; comma lists allowed. Empty: all.
std::vector<std::string> parse_families(const std::vector<std::string>& texts, std::string_view option = "--family");

/// --family-dir: folders of families of one's own.
void add_family_dir_option(CLI::App& app, std::vector<std::string>& folders);
/// Loads those of $TILESMITH_FAMILY_DIR, then these. Throws UsageError or FamilyError.
void load_families(const std::vector<std::string>& folders);

/// Throws UsageError naming --strategy unless there is one of that name.
void require_strategy(std::string_view given);

/// One word, or several joined by commas, split.
std::vector<std::string> split_commas(const std::vector<std::string>& texts);

/// --compile-jobs: 0 for "auto", what default_compile_process_count() finds.
CLI::Option* add_compile_jobs_option(CLI::App& app, int& jobs, const std::string& auto_means);

/// --seed, with what it is the seed of.
CLI::Option* add_seed_option(CLI::App& app, std::uint64_t& seed, const std::string& what);

/// --db: empty unless given.
void add_database_option(CLI::App& app, std::string& path);
/// $TILESMITH_DB, else $XDG_DATA_HOME/tilesmith/tuned.db, else ~/.local/share/tilesmith/tuned.db.
std::filesystem::path default_database_path();
/// Whether --db or $TILESMITH_DB names one.
bool names_database(const std::string& given);
/// The path given, or the default.
std::filesystem::path database_path(const std::string& given);
/// The same for a command that writes: makes the folder of the default path if it is missing (never one that was given).
std::filesystem::path database_path_for_writing(const std::string& given);

/// Throws UsageError naming the option unless a file can be written there (db::not_writable_because). Writes nothing.
void require_writable(const std::filesystem::path& path, std::string_view option);

}  // namespace tilesmith::tuner
