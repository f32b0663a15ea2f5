#include "tuner/cli/options/options.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "db/files/files.hpp"
#include "db/store/trust.hpp"
#include "kernels/families/user/load.hpp"
#include "runtime/interface/default_database.hpp"
#include "tuner/bests/bests_today.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/exit_status.hpp"
#include "tuner/figures.hpp"
#include "tuner/logs/words.hpp"
#include "tuner/search/strategy.hpp"

namespace tilesmith::tuner {
namespace {

template <typename Items, typename Name>
std::string joined(const Items& items, Name name_of) {
  std::string result;
  for (const auto& item : items) result += fmt::format("{}{}", result.empty() ? "" : ", ", std::invoke(name_of, item));
  return result;
}

/// A built-in name wins over a file of that name; "./quick" names the file.
Workload workload_named(const std::string& text) {
  std::error_code ignored;
  const std::span<const BuiltInWorkload> built_in = built_in_workloads();
  if (std::ranges::find(built_in, text, &BuiltInWorkload::name) != built_in.end()) {
    if (std::filesystem::exists(text, ignored))
      spdlog::warn("--workload '{0}': the built-in workload is taken; ./{0} means the file here", text);
    return built_in_workload(text);
  }
  if (text == "-") return load_workload(text);
  if (!std::filesystem::exists(text, ignored)) {
    throw UsageError(fmt::format("--workload '{}': no such file; expected a file or one of the built-in workloads {}",
        text, joined(built_in, &BuiltInWorkload::name)));
  }
  if (std::filesystem::is_directory(text, ignored))
    throw UsageError(fmt::format("--workload '{}': is a folder, expected a file", text));
  return load_workload(text);
}

bool contains(const auto& list, const auto& item) { return std::ranges::find(list, item) != std::ranges::end(list); }

void add_workload(Workload& into, const Workload& from, const Wanted& wanted) {
  std::ranges::copy_if(from.tasks, std::back_inserter(into.tasks),
      [&](const WeightedTask& one) { return wanted.wants(one.task) || (!one.task.is_gemm() && wanted.is_all()); });
  into.name += (into.name.empty() ? "" : "+") + from.name;
  into.weights_are_calls = from.weights_are_calls;
}

/// Type pairs and transposes that --with cannot be of are left out where all were asked for, unless none can be of it.
void add_shapes(Workload& into, const ProblemOptions& options, const Wanted& wanted) {
  const std::vector<TypePair> types = wanted.types.empty() ? std::vector{*find_type_pair("f16f32")} : wanted.types;
  const std::vector<Transposes> trans = wanted.trans.empty() ? std::vector{Transposes{}} : wanted.trans;
  const std::vector<std::string> fields = split_commas(options.with);
  const bool leave_out = contains(split_commas(options.types), "all") || contains(split_commas(options.trans), "all");
  for (const std::string& text : split_commas(options.shapes)) {
    const Shape shape = parse_shape(text);
    std::optional<UsageError> first_refused;
    std::size_t made = 0;
    for (const TypePair& type : types) {
      for (Transposes t : trans) {
        const Problem problem = packed_problem({type, t}, shape.m, shape.n, shape.k);
        try {
          into.tasks.push_back({with_fields(shape.batch == 0 ? problem : batched(problem, shape.batch), fields), 1});
          ++made;
        } catch (const UsageError& refused) {
          if (!leave_out) throw;
          if (!first_refused) first_refused = refused;
        }
      }
    }
    if (made == 0 && first_refused) throw *first_refused;
  }
  into.name += (into.name.empty() ? "" : "+") + std::string("options");
}

/// Weights of a problem that several workloads have, as those of a program's processes, are added.
void drop_duplicates(Workload& workload) {
  std::vector<WeightedTask> kept;
  std::unordered_map<std::string, std::size_t> known;
  for (const WeightedTask& weighted : workload.tasks) {
    const auto [at, is_new] = known.emplace(text(weighted.task), kept.size());
    if (is_new) kept.push_back(weighted);
    else kept[at->second].weight += weighted.weight;
  }
  workload.tasks = std::move(kept);
}

}  // namespace

Problem with_fields(const Problem& problem, const std::vector<std::string>& fields) {
  std::string text = tilesmith::text(problem), error;
  for (const std::string& field : fields) text += " " + field;
  const auto made = parse_problem(text, error);
  if (!made) throw UsageError(fmt::format("--with: {}", error));
  return *made;
}

std::vector<std::string> split_commas(const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  for (const std::string& text : texts) {
    const std::size_t before = result.size();
    for (const std::string_view word : split_at(text, ',')) {
      if (!word.empty()) result.emplace_back(word);
    }
    if (result.size() == before) result.emplace_back();  // "" or ",": no list of none, which would mean all
  }
  return result;
}

void add_task_options(CLI::App& app, ProblemOptions& options) {
  add_problem_options(app, options);
  AddOption{app}.heading("Problems");
  options.takes_kernels = true;
  add_own_kernel_options(app, options.own);
  AddOption{app}.heading("Options");
}

void add_problem_options(CLI::App& app, ProblemOptions& options) {
  const AddOption add{app};
  add.heading("Problems");
  add("--type", options.types, "PAIR,..", "Type pairs, comma-separated or repeated: " + type_pair_names() + ", or all");
  add("--trans", options.trans, "TRANS,..", "Transposes, comma-separated or repeated: NN, NT, TN, TT, or all");
  add("--shape", options.shapes, "MxNxK",
      "M, N and K in elements, or one number for a cube; with four numbers the first is the entries of a strided "
      "batch; repeatable. Each shape is taken with every --type (default f16f32) and --trans (default NN). Where one "
      "of these is all, what --with cannot be of is left out");
  add("--with", options.with, "FIELD=VALUE,..",
      "Fields that every --shape gets, comma-separated or repeated: beta=any, align= (bytes), lda=, ldb=, ldc= "
      "(elements), batch= and batch_mode=strided, of such a batch stride_a=, stride_b=, stride_c= (elements), a batch "
      "whose matrices are found by pointers by batch_mode=pointers, or groups of rows by batch= and "
      "batch_mode=grouped, epilogue= with words joined by +: scale_m or scale_m1, scale_n or scale_n1, or of 8-bit floats and "
      "s8 with blocks along K scale_m_1x128 or scale_m_128x128, scale_n_1x128 or scale_n_128x128; bias_n, bias_m, "
      "bias_n_f32 or bias_m_f32; one of " +
          activation_names() +
          "; or c_apart alone, scalars=device (alpha and beta in device memory), sparsity=a_2to4 or b_2to4 (half of A "
          "or B along K is stored), weights= with s4, u4, s8, e4m3, e2m1 or nf4, then _g32, _g64, _g128 or _column, "
          "then +zeros (not of e2m1, nf4), +f32, or q4_k or q6_k (B in 4, 6 or 8 bits; with batch_mode=grouped each group's)");
  add("--workload", options.workloads, "FILE|-|NAME",
      "A workload file (lines `type trans M N K [weight]`, to which fields may be added as --with names them, or "
      "`kernel NAME SIZE=N .. [weight]`; # comments), - for standard input, or the name of a built-in one (see `tilesmith workloads`); repeatable, weights "
      "of a problem in several are added. --type and --trans keep only matching problems");
  add.heading("Options");
}

Workload select_problems(const ProblemOptions& options, std::string_view fallback) {
  Wanted wanted;
  wanted.types = parse_types(options.types);
  wanted.trans = parse_trans(options.trans);
  Workload selected;
  if (!options.own.folder.empty()) add_own_kernel(selected, options.own, !options.workloads.empty());
  for (const std::string& name : options.workloads) {
    const Workload one = workload_named(name);
    if (!selected.name.empty() && one.weights_are_calls != selected.weights_are_calls)
      throw UsageError(
          fmt::format("--workload '{}' and '{}': the weights of one are calls, of the other shares; "
                      "expected `weights calls` in both or in neither",
              options.workloads.front(), name));
    add_workload(selected, one, wanted);
  }
  if (!options.with.empty() && options.shapes.empty()) throw UsageError("--with is for --shape: expected one");
  if (!options.shapes.empty()) add_shapes(selected, options, wanted);
  if (options.workloads.empty() && options.shapes.empty() && options.own.folder.empty())
    add_workload(selected, built_in_workload(fallback), wanted);
  drop_duplicates(selected);
  for (const WeightedTask& one : selected.tasks) {
    if (!options.takes_kernels && !one.task.is_gemm())
      throw UsageError(fmt::format("workload '{}': {}: expected GEMM problems alone", selected.name, text(one.task)));
  }
  if (!selected.tasks.empty()) return selected;
  throw UsageError(fmt::format(
      "workload '{}': no problem matches --type and --trans; --shape names problems for them", selected.name));
}

std::vector<TypePair> parse_types(const std::vector<std::string>& texts) {
  std::vector<TypePair> result;
  for (const std::string& text : split_commas(texts)) {
    const TypePair* const pair = find_type_pair(text);
    if (text == "all") result.assign(type_pairs().begin(), type_pairs().end());
    else if (pair == nullptr)
      throw UsageError(fmt::format("--type '{}': unknown type pair; expected {}, or all", text, type_pair_names()));
    else if (!contains(result, *pair)) result.push_back(*pair);
  }
  return result;
}

std::vector<Transposes> parse_trans(const std::vector<std::string>& texts) {
  std::vector<Transposes> result;
  for (const std::string& text : split_commas(texts)) {
    const auto parsed = parse_transposes(text);
    if (text == "all") result.assign(std::begin(kAllTransposes), std::end(kAllTransposes));
    else if (!parsed) throw UsageError(fmt::format("--trans '{}': expected NN, NT, TN, TT or all", text));
    else if (!contains(result, *parsed)) result.push_back(*parsed);
  }
  return result;
}

std::chrono::duration<double> parse_duration(std::string_view text, std::string_view option) {
  using Unit = std::pair<std::string_view, double>;
  constexpr Unit kUnits[] = {{"d", 86400}, {"h", 3600}, {"m", 60}, {"min", 60}, {"s", 1}, {"ms", 1e-3}};
  constexpr double kYear = 365.0 * 86400;
  double seconds = 0;
  bool is_good = true;
  for (std::string_view rest = text; is_good && !rest.empty();) {
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789."), rest.size());
    double value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + digits, value);
    is_good = digits > 0 && error == std::errc() && end == rest.data() + digits;
    rest.remove_prefix(digits);
    const std::string_view unit = rest.substr(0, rest.find_first_of("0123456789."));
    rest.remove_prefix(unit.size());
    const Unit* const known = std::ranges::find(kUnits, digits == text.size() ? "s" : unit, &Unit::first);
    is_good = is_good && known != std::end(kUnits);
    if (is_good) seconds += value * known->second;
  }
  if (is_good && seconds > 0 && seconds <= kYear) return std::chrono::duration<double>(seconds);
  throw UsageError(fmt::format("{} '{}': expected a time above 0 such as 90s, 10m or 2h30m", option, text));
}

std::vector<std::string> parse_families(const std::vector<std::string>& texts) {
  std::vector<std::string> result = split_commas(texts);
  for (const std::string& text : result) {
    if (find_family(text) == nullptr)
      throw UsageError(fmt::format("--family '{}': unknown family; expected one of {}, or one that --family-dir brings",
          text, joined(families(), [](const auto& family) { return family->name(); })));
  }
  return result;
}

Wanted FilterOptions::wanted() const {
  Wanted wanted;
  wanted.types = parse_types(types);
  wanted.trans = parse_trans(trans);
  for (const std::string& text : split_commas(shapes)) wanted.shapes.push_back(parse_shape(text));
  wanted.families = parse_families(families);
  wanted.device = device;
  return wanted;
}

void add_filter_options(const AddOption& add, FilterOptions& options, const std::string& device_help) {
  add.heading("Filters");
  add("--type", options.types, "PAIR,..", "Only these type pairs, comma-separated or repeated");
  add("--trans", options.trans, "TRANS,..", "Only these transposes: NN, NT, TN, TT");
  add("--family", options.families, "NAME,..", "Only configs of these families: of bests, the best of them");
  add("--device", options.device, "TEXT", device_help);
}

CLI::Option* add_retired_option(CLI::App& app, bool& retired) {
  return app.add_flag("--retired", retired,
      "Also the fastest recorded times that do not count, behind the best that would run, with why as "
      "their trust: retired (kernel, launches or options changed), not loaded (see --family-dir), "
      "reverify (driver or NVRTC changed, where another best is valid), of a former measuring policy, "
      "illegal today");
}

void say_left_out(const BestsToday& today) {
  std::vector<std::string> parts;
  if (today.without > 0) parts.push_back(count_of(today.without, "problem") + " without a time that counts today");
  if (today.passed_over > 0)
    parts.push_back(count_of(today.passed_over, "problem") + " with a faster time that does not count");
  const std::string not_loaded = db::not_loaded_text({today.not_loaded.begin(), today.not_loaded.end()});
  if (!not_loaded.empty()) Screen::instance().print_line(not_loaded);
  if (parts.empty()) return;
  Screen::instance().print_line(fmt::format(
      "{} (retired, or to be verified anew, as a rule): --retired shows what was left out", fmt::join(parts, ", ")));
}

CLI::Option* add_buckets_option(CLI::App& app, std::string& text) {
  return AddOption{app}("--buckets", text, "SIZES",
      "Sizes of M that each family gets, problems that differ in M alone, of which two sizes were "
      "called: powers (of two between its least and its largest), none, or sizes and ranges such as "
      "1-64,128");
}

cublas::Buckets buckets_given(const std::string& text) {
  cublas::Buckets buckets;
  if (cublas::parse_buckets(text, buckets)) return buckets;
  throw UsageError(fmt::format("--buckets '{}': expected {}", text, cublas::kBucketsExpected));
}

void add_family_dir_option(CLI::App& app, std::vector<std::string>& folders) {
  AddOption{app}("--family-dir", folders, "DIR",
      "A family of your own: the folder of its family.json and template; repeatable. $TILESMITH_FAMILY_DIR: "
      "folders, colon-separated, beside these")
      ->allow_extra_args(false)
      ->group("Families");
}

void load_families(const std::vector<std::string>& folders) {
  load_family_dirs_of_environment();
  for (const std::string& folder : folders) {
    try {
      load_family_dir(folder);
    } catch (const DefinitionError& error) {
      throw UsageError(fmt::format("--family-dir: {}", error.what()));
    }
  }
}

void require_strategy(std::string_view given) {
  const auto known = strategies();
  if (std::ranges::find(known, given, &StrategyInfo::name) != known.end()) return;
  throw UsageError(
      fmt::format("--strategy '{}': unknown strategy; expected one of {}", given, joined(known, &StrategyInfo::name)));
}

void add_database_option(CLI::App& app, std::string& path) {
  AddOption{app}("--db", path, "FILE",
      "Database file. Default: $TILESMITH_DB, else $XDG_DATA_HOME/tilesmith/tuned.db, else "
      "~/.local/share/tilesmith/tuned.db")
      ->group("Database");
}

bool names_database(const std::string& given) { return !given.empty() || !runtime::named_database().empty(); }

std::filesystem::path database_path(const std::string& given) {
  if (!given.empty()) return given;
  if (std::filesystem::path named = runtime::named_database(); !named.empty()) return named;
  if (std::filesystem::path own = runtime::own_database(); !own.empty()) return own;
  throw UsageError("--db: $HOME is not set; expected --db FILE or $TILESMITH_DB");
}

std::filesystem::path database_path_for_writing(const std::string& given) {
  const std::filesystem::path path = database_path(given), folder = path.parent_path();
  std::error_code error;
  if (!names_database(given)) std::filesystem::create_directories(folder, error);
  if (error) throw UsageError(fmt::format("--db: cannot make the folder {}: {}", folder.string(), error.message()));
  return path;
}

void require_writable(const std::filesystem::path& path, std::string_view option) {
  const std::string why = db::not_writable_because(path);
  if (why.empty()) return;
  throw UsageError(fmt::format("{} '{}': {}; expected a path that can be written", option, path.string(), why));
}

}  // namespace tilesmith::tuner
