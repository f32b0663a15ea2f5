#include "tuner/commands/output.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "db/export.hpp"
#include "tuner/commands/command.hpp"
#include "tuner/commands/options.hpp"
#include "tuner/commands/records.hpp"
#include "tuner/commands/table.hpp"

namespace tilesmith::tuner {

TextFormat parse_text_format(std::string_view text) {
  if (text == "table") return TextFormat::table;
  if (text == "json") return TextFormat::json;
  if (text == "csv") return TextFormat::csv;
  throw UsageError(fmt::format("--format '{}': expected table, json or csv", text));
}

void write_result(std::string_view content, const std::string& path) {
  if (!path.empty() && path != "-") {
    require_writable(path, "--output");
    db::write_file_atomically(path, content);
    return;
  }
  const bool written = std::fwrite(content.data(), 1, content.size(), stdout) == content.size() && std::fflush(stdout) == 0;
  if (!written) throw UsageError("stdout: cannot be written");
}

std::string sql_result(const db::Store::Table& table, TextFormat format, std::size_t width) {
  if (format == TextFormat::table) {
    std::vector<TextTable::Column> columns;
    for (const std::string& column : table.columns) columns.push_back({column});
    TextTable text(columns);
    for (const auto& row : table.rows) text.add(row);
    return text.text(width);
  }
  nlohmann::ordered_json records = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    nlohmann::ordered_json one = nlohmann::ordered_json::object();
    for (std::size_t c = 0; c < table.columns.size(); ++c) one[table.columns[c]] = row[c];
    records.push_back(std::move(one));
  }
  return format == TextFormat::json ? records.dump(1) + "\n" : to_csv(records, table.columns);
}

}  // namespace tilesmith::tuner
