// Where a command's result goes, and in which format.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

#include "db/store/free_query.hpp"

namespace tilesmith::tuner {

/// table, json or csv. Throws UsageError naming --format.
enum class TextFormat { table, json, csv };
TextFormat parse_text_format(std::string_view text, bool has_csv = true);

/// Whether results for this path go to stdout: "", "-", "/dev/stdout".
bool is_stdout(const std::string& path);

/// Writes to stdout, or whole to a file where is_stdout() is false. Throws UsageError if the path cannot be written.
void write_result(std::string_view content, const std::string& path = "");

/// Says on stderr that no entry matches, where none was found.
void say_if_nothing(bool found);

/// JSON as commands print it, indented. Bytes that are not UTF-8 are replaced: a device's name, a compiler's message or
/// a path may hold some.
std::string json_text(const nlohmann::ordered_json& json);

/// The result of a free query. JSON has SQLite's types, and "id", "id_2" of two columns "id".
std::string sql_result(const db::SqlResult& result, TextFormat format, std::size_t width);

}  // namespace tilesmith::tuner
