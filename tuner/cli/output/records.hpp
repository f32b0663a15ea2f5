// Records as rows: for people (a table) and for programs (JSON, CSV), from one list of fields.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "db/exchange/export.hpp"

namespace tilesmith::tuner {

/// Every field of an entry, by name. Fields without a value are null. `candidates` and `ok` are 0 where they do not
/// apply.
nlohmann::ordered_json record(const db::Record& entry, std::int64_t candidates = 0, std::int64_t ok = 0);

/// Fields as a line of CSV; RFC 4180 quoting. What a spreadsheet would run as a formula gets an apostrophe before it.
std::string csv_line(const std::vector<std::string>& fields);
/// An array of flat objects as CSV: a header line, then one line an object.
std::string to_csv(const nlohmann::ordered_json& records, const std::vector<std::string>& columns);
/// The fields of one such object.
std::vector<std::string> fields_of(const nlohmann::ordered_json& one, const std::vector<std::string>& columns);
/// The columns of such objects; those of record(), for files without a row.
std::vector<std::string> keys_of(const nlohmann::ordered_json& object);
std::vector<std::string> record_columns();

/// Bests as record() with their trust: what `query` and `export --format csv` write.
nlohmann::ordered_json best_records(const std::vector<db::JudgedBest>& bests);
std::vector<std::string> best_columns();
/// Adds how far it counts today, and what the vendor took beside it.
void put_trust(nlohmann::ordered_json& json, const db::JudgedBest& best);

/// The vendor's time over ours, "1.042"; "-" without both.
std::string vendor_ratio(const db::VendorTime& time, double our_us);

/// What a table says of a problem first. `options`: with a column for what a packed problem with beta = 0 does not
/// have, such as a batch, an epilogue or row strides.
std::vector<std::string> problem_titles(bool options);
std::vector<std::string> problem_cells(const Problem& problem, bool options);

/// Best configs, one a line. Some columns are there only if any row needs them: the options that problems have beside
/// their sizes, GB/s, the vendor's times.
std::string best_table(const std::vector<db::JudgedBest>& bests, std::size_t width);
/// All records, one a line, with status, time of recording and message.
std::string record_table(const std::vector<db::Record>& entries, std::size_t width);

}  // namespace tilesmith::tuner
