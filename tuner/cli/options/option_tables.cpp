#include "tuner/cli/options/option_tables.hpp"

#include <CLI/CLI.hpp>

#include <functional>

#include "kernels/families/family.hpp"
#include "tuner/logs/words.hpp"
#include "tuner/search/strategy.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {
namespace {

/// "PAIR,..=f16f32" without its list and its default.
std::string kind_of(const std::string& type_name) { return type_name.substr(0, type_name.find_first_of(",=")); }

/// The values that an option knows by name.
std::vector<std::string> words_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto has_name = [&](const char* name) { return option.check_lname(name); };
  std::vector<std::string> words;
  const auto add = [&](const auto& items, auto name_of) {
    for (const auto& item : items) words.emplace_back(std::invoke(name_of, item));
  };
  if (const std::size_t set = type.find(":{"); set != std::string::npos) {  // "INT:{12,13}": what CLI11 calls a set
    const std::string members = type.substr(set + 2, type.rfind('}') - set - 2);
    for (const std::string_view word : split_at(members, ',')) words.emplace_back(word);
  }
  if (kind_of(type) == "PAIR") add(type_pairs(), &TypePair::name);
  else if (kind_of(type) == "TRANS") words.insert(words.end(), {"NN", "NT", "TN", "TT"});
  else if (has_name("family")) add(families(), [](const auto& family) { return family->name(); });
  else if (has_name("strategy")) add(strategies(), &StrategyInfo::name);
  else if (has_name("workload")) add(built_in_workloads(), &BuiltInWorkload::name);
  return words;
}

OptionTable table_of(const CLI::Option& option) {
  OptionTable table;
  table.is_positional = option.get_positional();
  table.is_required = option.get_required();
  if (table.is_positional) table.names = {option.get_name(true, false)};
  for (const std::string& name : option.get_snames()) table.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) table.names.push_back("--" + name);
  const std::string type = option.get_type_name(), was = option.get_default_str();
  if (option.get_items_expected_max() > 0)
    table.value = type + (was.empty() || type.find('=') != std::string::npos ? "" : "=" + was);
  table.is_repeatable = option.get_items_expected_max() > 1;
  table.description = option.get_description();
  table.group = option.get_group();
  for (const char* file : {"FILE", "FOLDER", "DIR", "CSV"})
    table.takes_file = table.takes_file || type.starts_with(file);
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

std::vector<CommandTable> option_tables(const CLI::App& program) {
  std::vector<CommandTable> tables{table_of(program, program.get_name())};
  for (const CLI::App* command : program.get_subcommands(std::function<bool(const CLI::App*)>()))
    tables.push_back(table_of(*command, command->get_name()));
  return tables;
}

}  // namespace tilesmith::tuner
