// Records as rows: for people (a table) and for programs (JSON, CSV), from one list of fields.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "db/exchange/export.hpp"

namespace tilesmith::tuner {

/// Every field of an entry, by name. Fields without a value are null. `candidates` and `ok` are 0 where they do not apply.
nlohmann::ordered_json record(const db::Record& entry, std::int64_t candidates = 0, std::int64_t ok = 0);

/// Fields as a line of CSV; RFC 4180 quoting. What a spreadsheet would run as a formula gets an apostrophe before it.
std::string csv_line(const std::vector<std::string>& fields);
/// An array of flat objects as CSV: a header line, then one line an object.
std::string to_csv(const nlohmann::ordered_json& records, const std::vector<std::string>& columns);
/// The fields of one such object.
std::vector<std::string> fields_of(const nlohmann::ordered_json& one, const std::vector<std::string>& columns);
/// The columns of record(), for files without a row.
std::vector<std::string> record_columns();

/// Bests as record() with their trust: what `query` and `export --format csv` write.
nlohmann::ordered_json best_records(const std::vector<db::JudgedBest>& bests);
std::vector<std::string> best_columns();

/// The vendor's time over ours, "1.042"; "-" without both.
std::string vendor_ratio(const db::VendorTime& time, double our_us);

/// Best configs, one a line: type, transposes, M, N, K, layout (if any row has one of its own), µs, TFLOP/s, GB/s (if memory
/// bounds any row), percent of peak, spread, the vendor's first choice and it and its best over ours (if any row has them), right of tried, trust, device, config.
std::string best_table(const std::vector<db::JudgedBest>& bests, std::size_t width);
/// All records, one a line, with status, time of recording and message.
std::string record_table(const std::vector<db::Record>& entries, std::size_t width);

}  // namespace tilesmith::tuner
