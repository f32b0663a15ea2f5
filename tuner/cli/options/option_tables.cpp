#include "tuner/cli/options/option_tables.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>

#include "kernels/families/family.hpp"
#include "kernels/problem/type_pair.hpp"
#include "tuner/search/strategy.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {
namespace {

/// "PAIR,..=f16f32" without its list and its default.
std::string kind_of(const std::string& type_name) { return type_name.substr(0, type_name.find_first_of(",=")); }

/// "INT:{12,13}": what CLI11 calls a set.
std::vector<std::string> members(const std::string& type_name) {
  const std::size_t begin = type_name.find(":{"), end = type_name.rfind('}');
  std::vector<std::string> words;
  if (begin == std::string::npos || end == std::string::npos) return words;
  for (std::size_t at = begin + 2; at < end;) {
    const std::size_t comma = std::min(type_name.find(',', at), end);
    words.push_back(type_name.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

/// The values that an option knows by name.
std::vector<std::string> words_of(const CLI::Option& option) {
  const std::string kind = kind_of(option.get_type_name());
  const auto has_name = [&](std::string_view name) {
    return std::find(option.get_lnames().begin(), option.get_lnames().end(), name) != option.get_lnames().end();
  };
  std::vector<std::string> words = members(option.get_type_name());
  if (kind == "PAIR") {
    for (const TypePair& pair : type_pairs()) words.emplace_back(pair.name);
  } else if (kind == "TRANS") {
    for (const char* trans : {"NN", "NT", "TN", "TT"}) words.emplace_back(trans);
  } else if (has_name("family")) {
    for (const auto& family : families()) words.emplace_back(family->name());
  } else if (has_name("strategy")) {
    for (const StrategyInfo& strategy : strategies()) words.emplace_back(strategy.name);
  } else if (has_name("workload")) {
    for (const BuiltInWorkload& workload : built_in_workloads()) words.emplace_back(workload.name);
  }
  return words;
}

bool takes_file(const std::string& type_name) {
  constexpr std::string_view kFiles[] = {"FILE", "FOLDER", "DIR", "CSV"};
  return std::any_of(std::begin(kFiles), std::end(kFiles), [&](std::string_view file) { return type_name.starts_with(file); });
}

OptionTable table_of(const CLI::Option& option) {
  OptionTable table;
  table.is_positional = option.get_positional();
  table.is_required = option.get_required();
  if (table.is_positional) {
    table.names = {option.get_name(true, false)};
  } else {
    for (const std::string& name : option.get_snames()) table.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) table.names.push_back("--" + name);
  }
  if (option.get_items_expected_max() > 0) {
    table.value = option.get_type_name();
    if (const std::string& was = option.get_default_str(); !was.empty() && table.value.find('=') == std::string::npos) table.value += "=" + was;
  }
  table.is_repeatable = option.get_items_expected_max() > 1;
  table.description = option.get_description();
  table.group = option.get_group();
  table.takes_file = takes_file(option.get_type_name());
  table.words = words_of(option);
  return table;
}

CommandTable table_of(const CLI::App& app, const std::string& name) {
  CommandTable table{name, app.get_description(), {}, app.get_footer()};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) table.options.push_back(table_of(*option));
  }
  return table;
}

}  // namespace

std::string OptionTable::text() const {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  if (!value.empty() && !is_positional) all += " " + value;
  return all;
}

std::vector<CommandTable> option_tables(const CLI::App& program) {
  std::vector<CommandTable> tables{table_of(program, program.get_name())};
  for (const CLI::App* command : program.get_subcommands(std::function<bool(const CLI::App*)>())) tables.push_back(table_of(*command, command->get_name()));
  return tables;
}

}  // namespace tilesmith::tuner
