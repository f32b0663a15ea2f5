// Where a command's result goes, and in which format.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

#include "db/free_query.hpp"

namespace tilesmith::tuner {

/// table, json or csv. Throws UsageError naming --format.
enum class TextFormat { table, json, csv };
TextFormat parse_text_format(std::string_view text);

/// Writes to stdout, or whole to a file if `path` is not empty. Throws UsageError if the path cannot be written.
void write_result(std::string_view content, const std::string& path = "");

/// The result of a free query. JSON has SQLite's types, and "id", "id_2" of two columns "id".
std::string sql_result(const db::SqlResult& result, TextFormat format, std::size_t width);

}  // namespace tilesmith::tuner
