#include "tuner/cli/output/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "db/exchange/export.hpp"
#include "db/files/files.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/records.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/exit_status.hpp"

namespace tilesmith::tuner {
namespace {

using Json = nlohmann::ordered_json;

/// Each name once: a name that was there before gets a number.
std::vector<std::string> unique_names(const std::vector<std::string>& columns) {
  std::set<std::string> given(columns.begin(), columns.end()), used;
  std::vector<std::string> names;
  for (const std::string& column : columns) {
    std::string name = column;
    for (int n = 2; used.contains(name) || (n > 2 && given.contains(name)); ++n) name = fmt::format("{}_{}", column, n);
    used.insert(name);
    names.push_back(std::move(name));
  }
  return names;
}

Json json_of(const db::SqlValue& value) {
  switch (value.type) {
    case db::SqlValue::Type::null: return nullptr;
    case db::SqlValue::Type::integer: return value.integer;
    case db::SqlValue::Type::real: return value.real;
    case db::SqlValue::Type::text:
    case db::SqlValue::Type::blob: break;
  }
  return value.text;
}

std::string sql_json(const db::SqlResult& result) {
  const std::vector<std::string> names = unique_names(result.columns);
  Json records = Json::array();
  for (const auto& row : result.rows) {
    Json one = Json::object();
    for (std::size_t c = 0; c < names.size(); ++c) one[names[c]] = json_of(row[c]);
    records.push_back(std::move(one));
  }
  return json_text(records);
}

}  // namespace

TextFormat parse_text_format(std::string_view text, bool has_csv) {
  if (text == "csv" && !has_csv) throw UsageError("--format 'csv': expected table or json");
  if (text == "table") return TextFormat::table;
  if (text == "json") return TextFormat::json;
  if (text == "csv") return TextFormat::csv;
  throw UsageError(fmt::format("--format '{}': expected table, json or csv", text));
}

bool is_stdout(const std::string& path) {
  return path.empty() || path == "-" || db::own_descriptor(path) == STDOUT_FILENO;
}

void write_result(std::string_view content, const std::string& path) {
  if (!is_stdout(path)) {
    require_writable(path, "--output");
    db::write_file_atomically(path, content);
    return;
  }
  const bool written =
      std::fwrite(content.data(), 1, content.size(), stdout) == content.size() && std::fflush(stdout) == 0;
  if (!written) throw UsageError("stdout: cannot be written");
}

void say_if_nothing(bool found) {
  if (!found) Screen::instance().print_line("no entry matches");
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string sql_result(const db::SqlResult& result, TextFormat format, std::size_t width) {
  if (format == TextFormat::json) return sql_json(result);
  std::vector<std::string> titles;
  for (const std::string& column : result.columns) titles.push_back("<" + column);
  TextTable table(std::move(titles));
  std::string csv = csv_line(result.columns);
  for (const auto& row : result.rows) {
    std::vector<std::string> cells;
    for (const db::SqlValue& value : row) cells.push_back(value.text);
    csv += csv_line(cells);
    table.add(std::move(cells));
  }
  return format == TextFormat::csv ? csv : table.text(width, "--format csv");
}

}  // namespace tilesmith::tuner
