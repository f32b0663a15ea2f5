#include "tuner/recordings/outcome_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "db/exchange/recording.hpp"
#include "db/files/files.hpp"
#include "tuner/recordings/kernel_tuner_cache.hpp"
#include "tuner/recordings/uncompressed.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kMostOfFirstLine = 4096;

/// A recording says in its first line what it is.
bool is_recording(const std::string& content) {
  return content.substr(0, std::min(content.find('\n'), kMostOfFirstLine)).find("\"tilesmith_recording\"") !=
         std::string::npos;
}

std::string text_of(const std::filesystem::path& path) {
  try {
    return uncompressed(db::read_file(path, "a recording, or a file of Kernel Tuner"));
  } catch (const std::runtime_error& error) {
    if (dynamic_cast<const db::StoreError*>(&error) != nullptr) throw;
    throw db::StoreError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

/// The recorded configs of a family. Precondition: all have the same parameters; at least one.
FamilyOutcomes outcomes_of(const std::vector<const db::Record*>& entries) {
  FamilyOutcomes outcomes;
  const auto& first = entries.front()->config;
  outcomes.family = first.family();
  for (std::size_t i = 0; i < first.values().size(); ++i) {
    std::set<int> values;
    for (const db::Record* entry : entries) values.insert(entry->config.values()[i].second);
    outcomes.parameters.push_back({first.values()[i].first.text(), {values.begin(), values.end()}, ""});
  }
  for (const db::Record* entry : entries) {
    FamilyOutcomes::Row row;
    for (std::size_t i = 0; i < outcomes.parameters.size(); ++i) {
      const std::vector<int>& values = outcomes.parameters[i].values;
      const auto at = std::lower_bound(values.begin(), values.end(), entry->config.values()[i].second);
      row.positions.push_back(std::size_t(at - values.begin()));
    }
    if (entry->outcome.timing) row.time_us = entry->outcome.timing->median_us;
    outcomes.rows.push_back(std::move(row));
  }
  return outcomes;
}

/// Configs of one family that were recorded with other parameters (of an older template) make a space of their own.
OutcomeTable table_of(const std::vector<const db::Record*>& entries, std::string name) {
  std::map<std::string, std::vector<const db::Record*>> by_parameters;
  for (const db::Record* entry : entries) {
    std::string key = entry->config.family();
    for (const auto& [parameter, value] : entry->config.values()) key += ' ' + parameter.text();
    by_parameters[key].push_back(entry);
  }
  std::vector<FamilyOutcomes> families;
  for (const auto& [key, of_family] : by_parameters) families.push_back(outcomes_of(of_family));
  return make_table(std::move(name), std::move(families));
}

LoadedTables tables_of(const db::Recording& recording, const std::string& file, std::size_t min_configs) {
  std::map<std::string, std::vector<const db::Record*>> by_problem;
  std::vector<std::string> order;  // of their first appearance
  for (const db::Record& entry : recording.entries) {
    auto& entries = by_problem[text(entry.task)];
    if (entries.empty()) order.push_back(text(entry.task));
    entries.push_back(&entry);
  }
  LoadedTables loaded;
  for (const std::string& problem : order) {
    const auto& entries = by_problem[problem];
    const auto has_time = [](const db::Record* entry) { return entry->outcome.timing.has_value(); };
    if (entries.size() < min_configs || std::none_of(entries.begin(), entries.end(), has_time)) {
      ++loaded.too_small;
      continue;
    }
    loaded.tables.push_back(table_of(entries, fmt::format("{} {}", file, problem)));
  }
  return loaded;
}

}  // namespace

LoadedTables load_outcome_tables(const std::filesystem::path& path, std::size_t min_configs) {
  std::string content = text_of(path);
  if (is_recording(content))
    return tables_of(db::parse_recording(std::move(content), path), path.filename().string(), min_configs);
  LoadedTables loaded;
  loaded.tables.push_back(parse_kernel_tuner_file(std::move(content), path));
  return loaded;
}

}  // namespace tilesmith::tuner
