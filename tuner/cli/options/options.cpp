#include "tuner/cli/options/options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <unordered_map>

#include "db/files/files.hpp"
#include "kernels/families/user/load.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/search/strategy.hpp"

namespace tilesmith::tuner {
namespace {

template <typename Items, typename Name>
std::string joined(const Items& items, Name&& name_of) {
  std::string result;
  for (const auto& item : items) result += fmt::format("{}{}", result.empty() ? "" : ", ", name_of(item));
  return result;
}

bool is_built_in(std::string_view name) {
  const auto all = built_in_workloads();
  return std::any_of(all.begin(), all.end(), [&](const BuiltInWorkload& w) { return w.name == name; });
}

/// A built-in name wins over a file of that name; "./quick" names the file.
Workload workload_named(const std::string& text) {
  std::error_code ignored;
  if (is_built_in(text)) {
    if (std::filesystem::exists(text, ignored)) spdlog::warn("--workload '{0}': the built-in workload is taken; ./{0} means the file here", text);
    return built_in_workload(text);
  }
  if (text == "-") return load_workload(text);
  if (!std::filesystem::exists(text, ignored)) {
    throw UsageError(fmt::format("--workload '{}': no such file; expected a file or one of the built-in workloads {}", text,
                                 joined(built_in_workloads(), [](const BuiltInWorkload& w) { return w.name; })));
  }
  if (std::filesystem::is_directory(text, ignored)) throw UsageError(fmt::format("--workload '{}': is a folder, expected a file", text));
  return load_workload(text);
}

template <typename T>
bool contains(const std::vector<T>& list, const T& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

template <typename T>
bool empty_or_contains(const std::vector<T>& list, const T& item) {
  return list.empty() || contains(list, item);
}

void add_workload(Workload& into, const Workload& from, const std::vector<TypePair>& types,
                  const std::vector<Transposes>& trans) {
  for (const WeightedProblem& weighted : from.problems) {
    if (empty_or_contains(types, weighted.problem.type) && empty_or_contains(trans, weighted.problem.trans)) {
      into.problems.push_back(weighted);
    }
  }
  into.name += (into.name.empty() ? "" : "+") + from.name;
  into.weights_are_calls = from.weights_are_calls;
}

bool asks_for_all(const std::vector<std::string>& texts) { return contains(split_commas(texts), std::string("all")); }

/// `leave_out`: type pairs and transposes that the fields cannot be of, unless they can be of none.
void add_shapes(Workload& into, const std::vector<std::string>& shapes, const std::vector<std::string>& fields, std::vector<TypePair> types,
                std::vector<Transposes> trans, bool leave_out) {
  if (types.empty()) types.push_back(*find_type_pair("f16f32"));
  if (trans.empty()) trans.push_back(Transposes{});
  for (const std::string& text : split_commas(shapes)) {
    const Shape shape = parse_shape(text);
    std::optional<UsageError> first_refused;
    std::size_t made = 0;
    for (const TypePair& type : types) {
      for (Transposes t : trans) {
        const Problem problem = packed_problem({type, t}, shape.m, shape.n, shape.k);
        try {
          into.problems.push_back({with_fields(shape.batch == 0 ? problem : batched(problem, shape.batch), fields), 1});
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
  std::vector<WeightedProblem> kept;
  std::unordered_map<std::string, std::size_t> known;
  for (const WeightedProblem& weighted : workload.problems) {
    const auto [at, is_new] = known.emplace(text(weighted.problem), kept.size());
    if (is_new) kept.push_back(weighted);
    else kept[at->second].weight += weighted.weight;
  }
  workload.problems = std::move(kept);
}

/// nullptr: not set; an empty one counts as not set.
const char* database_in_environment() {
  const char* given = std::getenv("TILESMITH_DB");
  return given != nullptr && *given != '\0' ? given : nullptr;
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
    std::size_t at = 0;
    while (at <= text.size()) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      if (comma > at) result.push_back(text.substr(at, comma - at));
      at = comma + 1;
    }
    if (result.size() == before) result.emplace_back();  // "" or ",": no list of none, which would mean all
  }
  return result;
}

void add_problem_options(CLI::App& app, ProblemOptions& options) {
  app.add_option("--type", options.types,
                 "Type pairs, comma-separated or repeated: " +
                     type_pair_names() + ", or all")
      ->type_name("PAIR,..")
      ->group("Problems");
  app.add_option("--trans", options.trans, "Transposes, comma-separated or repeated: NN, NT, TN, TT, or all")
      ->type_name("TRANS,..")
      ->group("Problems");
  app.add_option("--shape", options.shapes,
                 "M, N and K in elements, or one number for a cube; with four numbers the first is the entries of a strided batch; repeatable. Each shape is taken with every --type "
                 "(default f16f32) and --trans (default NN). Where one of these is all, what --with cannot be of is left out")
      ->type_name("MxNxK")
      ->group("Problems");
  app.add_option("--with", options.with,
                 "Fields that every --shape gets, comma-separated or repeated: beta=any, align= (bytes), lda=, ldb=, ldc= (elements), batch= and "
                 "batch_mode=strided, of such a batch stride_a=, stride_b=, stride_c= (elements), a batch whose matrices are found by pointers by batch_mode=pointers, or groups of rows by batch= and batch_mode=grouped, "
                 "epilogue= with words joined by +: scale_m or scale_m1, scale_n or scale_n1; bias_n, bias_m, bias_n_f32 or bias_m_f32; one of " + activation_names() +
                 "; or c_apart alone, scalars=device (alpha and beta in device memory), sparsity=a_2to4 or b_2to4 (half of A or B along K is stored), weights= with s4, u4, s8, e4m3, e2m1 or nf4, then _g32, _g64, _g128 or _column, then +zeros (not of e2m1, nf4), +f32 (B in 4 or 8 bits; with batch_mode=grouped each group's)")
      ->type_name("FIELD=VALUE,..")
      ->group("Problems");
  app.add_option("--workload", options.workloads,
                 "A workload file (lines `type trans M N K [weight]`, to which fields may be added as --with names them; # comments), - for standard input, or the name of a built-in one (see `tilesmith "
                 "workloads`); repeatable, weights of a problem in several are added. --type and --trans keep only matching problems")
      ->type_name("FILE|-|NAME")
      ->group("Problems");
}

Workload select_problems(const ProblemOptions& options, std::string_view fallback) {
  const std::vector<TypePair> types = parse_types(options.types);
  const std::vector<Transposes> trans = parse_trans(options.trans);
  Workload selected;
  for (const std::string& name : options.workloads) {
    const Workload one = workload_named(name);
    if (!selected.name.empty() && one.weights_are_calls != selected.weights_are_calls)
      throw UsageError(fmt::format("--workload '{}' and '{}': the weights of one are calls, of the other shares; expected `weights calls` in both or in neither",
                                   options.workloads.front(), name));
    add_workload(selected, one, types, trans);
  }
  if (!options.with.empty() && options.shapes.empty()) throw UsageError("--with is for --shape: expected one");
  if (!options.shapes.empty()) add_shapes(selected, options.shapes, split_commas(options.with), types, trans, asks_for_all(options.types) || asks_for_all(options.trans));
  if (options.workloads.empty() && options.shapes.empty()) {
    add_workload(selected, built_in_workload(fallback), types, trans);
  }
  drop_duplicates(selected);
  if (selected.problems.empty()) {
    throw UsageError(fmt::format("workload '{}': no problem matches --type and --trans; --shape names problems for them",
                                 selected.name));
  }
  return selected;
}

std::vector<TypePair> parse_types(const std::vector<std::string>& texts, std::string_view option) {
  std::vector<TypePair> result;
  for (const std::string& text : split_commas(texts)) {
    if (text == "all") {
      result.assign(type_pairs().begin(), type_pairs().end());
      continue;
    }
    const TypePair* pair = find_type_pair(text);
    if (pair == nullptr) throw UsageError(fmt::format("{} '{}': unknown type pair; expected {}, or all", option, text, type_pair_names()));
    if (!contains(result, *pair)) result.push_back(*pair);
  }
  return result;
}

std::vector<Transposes> parse_trans(const std::vector<std::string>& texts, std::string_view option) {
  std::vector<Transposes> result;
  for (const std::string& text : split_commas(texts)) {
    if (text == "all") {
      result.assign(std::begin(kAllTransposes), std::end(kAllTransposes));
      continue;
    }
    const auto parsed = parse_transposes(text);
    if (!parsed) throw UsageError(fmt::format("{} '{}': expected NN, NT, TN, TT or all", option, text));
    if (!contains(result, *parsed)) result.push_back(*parsed);
  }
  return result;
}

std::chrono::duration<double> parse_duration(std::string_view text, std::string_view option) {
  const auto fail = [&]() -> std::chrono::duration<double> {
    throw UsageError(fmt::format("{} '{}': expected a time above 0 such as 90s, 10m or 2h30m", option, text));
  };
  if (text.empty()) return fail();
  double seconds = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::size_t digits = 0;
    while (digits < rest.size() && ((rest[digits] >= '0' && rest[digits] <= '9') || rest[digits] == '.')) ++digits;
    double value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + digits, value);
    if (digits == 0 || error != std::errc{} || end != rest.data() + digits) return fail();
    rest.remove_prefix(digits);
    const std::size_t letters = std::min(rest.find_first_of("0123456789."), rest.size());
    const std::string_view unit = rest.substr(0, letters);
    rest.remove_prefix(letters);
    if (unit == "d") seconds += value * 86400;
    else if (unit == "h") seconds += value * 3600;
    else if (unit == "m" || unit == "min") seconds += value * 60;
    else if (unit == "s" || (unit.empty() && digits == text.size())) seconds += value;
    else if (unit == "ms") seconds += value * 1e-3;
    else return fail();
  }
  constexpr double kYear = 365.0 * 86400;
  if (!(seconds > 0) || !(seconds <= kYear)) return fail();
  return std::chrono::duration<double>(seconds);
}

std::vector<std::string> parse_families(const std::vector<std::string>& texts, std::string_view option) {
  std::vector<std::string> result = split_commas(texts);
  for (const std::string& text : result) {
    if (find_family(text) == nullptr) {
      throw UsageError(fmt::format("{} '{}': unknown family; expected one of {}, or one that --family-dir brings", option, text,
                                   joined(families(), [](const auto& family) { return family->name(); })));
    }
  }
  return result;
}

void add_family_dir_option(CLI::App& app, std::vector<std::string>& folders) {
  app.add_option("--family-dir", folders,
                 "A family of your own: the folder of its family.json and template; repeatable. $TILESMITH_FAMILY_DIR: folders, "
                 "colon-separated, beside these")
      ->type_name("DIR")->allow_extra_args(false)->group("Families");
}

void load_families(const std::vector<std::string>& folders) {
  load_family_dirs_of_environment();
  for (const std::string& folder : folders) {
    try {
      load_family_dir(folder);
    } catch (const FamilyError& error) {
      throw UsageError(fmt::format("--family-dir: {}", error.what()));
    }
  }
}

void require_strategy(std::string_view given) {
  const auto known = strategies();
  const auto is_given = [&](const StrategyInfo& info) { return info.name == given; };
  if (std::any_of(known.begin(), known.end(), is_given)) return;
  throw UsageError(fmt::format("--strategy '{}': unknown strategy; expected one of {}", given,
                               joined(known, [](const StrategyInfo& info) { return info.name; })));
}

void add_database_option(CLI::App& app, std::string& path) {
  app.add_option("--db", path,
                 "Database file. Default: $TILESMITH_DB, else $XDG_DATA_HOME/tilesmith/tuned.db, else "
                 "~/.local/share/tilesmith/tuned.db")
      ->type_name("FILE")
      ->group("Database");
}

std::filesystem::path default_database_path() {
  if (const char* given = database_in_environment()) return given;
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && *data == '/') {
    return std::filesystem::path(data) / "tilesmith" / "tuned.db";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') throw UsageError("--db: $HOME is not set; expected --db FILE or $TILESMITH_DB");
  return std::filesystem::path(home) / ".local" / "share" / "tilesmith" / "tuned.db";
}

bool names_database(const std::string& given) { return !given.empty() || database_in_environment() != nullptr; }

std::filesystem::path database_path(const std::string& given) {
  return given.empty() ? default_database_path() : std::filesystem::path(given);
}

std::filesystem::path database_path_for_writing(const std::string& given) {
  const std::filesystem::path path = database_path(given);
  if (!names_database(given)) {
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) {
      throw UsageError(fmt::format("--db: cannot make the folder {}: {}", path.parent_path().string(), error.message()));
    }
  }
  return path;
}

void require_writable(const std::filesystem::path& path, std::string_view option) {
  const std::string why = db::not_writable_because(path);
  if (why.empty()) return;
  throw UsageError(fmt::format("{} '{}': {}; expected a path that can be written", option, path.string(), why));
}

}  // namespace tilesmith::tuner
