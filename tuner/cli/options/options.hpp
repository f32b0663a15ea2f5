// Options that several commands share, and the checks of what they were given.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/cublas/calls/buckets.hpp"
#include "tuner/cli/options/own_kernel.hpp"
#include "tuner/schedule/shards.hpp"
#include "tuner/wanted.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {

struct BestsToday;

/// Adds options to a command.
struct AddOption {
  CLI::App& app;

  /// --help lists what is added from now on under this heading.
  void heading(const std::string& text) const { app.option_defaults()->group(text); }
  /// `kind` stands for the value in --help, behind which its default is shown, unless it is a list's.
  template <typename Value>
  CLI::Option* operator()(const char* names, Value& value, const char* kind, const std::string& help) const {
    CLI::Option* const option = app.add_option(names, value, help)->type_name(kind);
    if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) option->capture_default_str();
    return option;
  }
};

template <typename Options>
struct NewCommand {
  CLI::App* app;
  std::shared_ptr<Options> options;
  AddOption add;
};
template <typename Options>
NewCommand<Options> new_command(CLI::App& program, const char* name, const char* summary) {
  CLI::App* const app = program.add_subcommand(name, summary);
  return {app, std::make_shared<Options>(), {*app}};
}

/// The largest number that options which count something take.
inline constexpr std::int64_t kMostCount = 1'000'000'000'000;
inline CLI::Validator between(std::int64_t least, std::int64_t most) { return CLI::Range(least, most).description(""); }

/// The whole text as an integer, digits alone; nullopt if it is none, or out of the type's range.
template <typename Integer = std::int64_t>
std::optional<Integer> whole_number(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Which problems a command works on: --type, --trans, --shape, --with, --workload.
struct ProblemOptions {
  std::vector<std::string> types, trans;  ///< each may be a comma list; "all"
  std::vector<std::string> shapes;        ///< "MxNxK" or "S" for a cube
  /// "beta=any", "epilogue=bias_n+gelu": fields of all shapes; each may be a comma list.
  std::vector<std::string> with;
  std::vector<std::string> workloads;  ///< files or built-in names
  bool takes_kernels = false;          ///< of one's own, beside problems
  OwnKernelOptions own;
  bool empty() const { return types.empty() && trans.empty() && shapes.empty() && with.empty() && workloads.empty(); }
};
void add_problem_options(CLI::App& app, ProblemOptions& options);
/// The same with --kernel and --sizes.
void add_task_options(CLI::App& app, ProblemOptions& options);

/// What add_problem_options explains in --help: shapes are crossed with types and transposes (f16f32 and NN if none is
/// named); of workloads, those problems are kept whose type and transposes are named (all if none is); without shapes
/// and workloads the built-in workload `fallback` is taken. A kernel of one's own is loaded first. Throws UsageError or
/// WorkloadError, also when nothing is left.
Workload select_problems(const ProblemOptions& options, std::string_view fallback = "quick");

/// The problem with these fields, as --with gives them. Throws UsageError.
Problem with_fields(const Problem& problem, const std::vector<std::string>& fields);

/// "f16f32,bf16f32" → pairs.
std::vector<TypePair> parse_types(const std::vector<std::string>& texts);
std::vector<Transposes> parse_trans(const std::vector<std::string>& texts);

Shape parse_shape(std::string_view text);

/// "90s", "10m", "2h30m", "1d", "500ms"; a bare number is seconds. Positive.
std::chrono::duration<double> parse_duration(std::string_view text, std::string_view option);

/// Names of families, checked; comma lists allowed. Empty: all.
std::vector<std::string> parse_families(const std::vector<std::string>& texts);

/// Which records a command is about: --type, --trans, --family, --device and, of some, --shape.
struct FilterOptions {
  std::vector<std::string> types, trans, shapes, families;
  std::string device;
  Wanted wanted() const;  ///< throws UsageError
};
/// All but --shape, under the heading "Filters".
void add_filter_options(const AddOption& add, FilterOptions& options, const std::string& device_help);

/// --retired: whether recorded times that do not count are shown as well.
CLI::Option* add_retired_option(CLI::App& app, bool& retired);
/// One line on stderr about what was left out without it, if anything was.
void say_left_out(const BestsToday& today);

/// --buckets: which sizes of M a workload made of calls gets beside those that were called.
inline constexpr const char* kDefaultBuckets = "powers";
CLI::Option* add_buckets_option(CLI::App& app, std::string& text);
cublas::Buckets buckets_given(const std::string& text);  ///< throws UsageError

/// --family-dir: folders of families of one's own.
void add_family_dir_option(CLI::App& app, std::vector<std::string>& folders);
/// Loads those of $TILESMITH_FAMILY_DIR, then these. Throws UsageError or DefinitionError.
void load_families(const std::vector<std::string>& folders);

/// Throws UsageError naming --strategy unless there is one of that name.
void require_strategy(std::string_view given);

/// One word, or several joined by commas, split.
std::vector<std::string> split_commas(const std::vector<std::string>& texts);

/// --compile-jobs: 0 for "auto", what default_compile_process_count() finds.
CLI::Option* add_compile_jobs_option(CLI::App& app, int& jobs, const std::string& auto_means);

/// --seed, with what it is the seed of.
CLI::Option* add_seed_option(CLI::App& app, std::uint64_t& seed, const std::string& what);

/// --shard: which shard of a workload a tuner takes. It may leave the number to the scheduler's environment.
struct GivenShard {
  Shard shard;
  std::string from;  ///< "--shard", "SLURM_ARRAY_TASK_ID"
};

/// `given`: "i/N", "auto/N", "none", or empty, which a task of an array may not leave it. `variable`: of the
/// environment, null if it is not set. nullopt: the whole workload. Throws UsageError that names the option or the
/// variable.
std::optional<GivenShard> parse_shard(
    const std::string& given, const std::function<const char*(const char*)>& variable);

CLI::Option* add_shard_option(CLI::App& app, std::string& shard);

/// --db: empty unless given.
void add_database_option(CLI::App& app, std::string& path);
/// Whether --db or $TILESMITH_DB names one.
bool names_database(const std::string& given);
/// The path given, else $TILESMITH_DB, $XDG_DATA_HOME/tilesmith/tuned.db or ~/.local/share/tilesmith/tuned.db.
std::filesystem::path database_path(const std::string& given);
/// The same for a command that writes: makes the folder of the default path if it is missing (never one that was
/// given).
std::filesystem::path database_path_for_writing(const std::string& given);

/// Throws UsageError naming the option unless a file can be written there (db::not_writable_because). Writes nothing.
void require_writable(const std::filesystem::path& path, std::string_view option);

}  // namespace tilesmith::tuner
