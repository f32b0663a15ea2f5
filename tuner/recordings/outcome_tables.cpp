#include "tuner/recordings/outcome_tables.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <utility>

#include "db/exchange/recording.hpp"
#include "db/files/compress.hpp"
#include "db/files/files.hpp"
#include "tuner/recordings/kernel_tuner_files.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kMostOfFirstLine = 4096;
constexpr std::size_t kLargestTextBytes = std::size_t{4} << 30;
constexpr int kGzipOnly = 16 + MAX_WBITS;  // no bare zlib streams

/// A recording says in its first line what it is.
bool is_recording(const std::string& content) {
  return content.substr(0, std::min(content.find('\n'), kMostOfFirstLine)).find("\"tilesmith_recording\"") !=
         std::string::npos;
}

/// What a file holds once decompressed: gzip and zstd, told by content, whatever the file's name.
std::string text_of(const std::filesystem::path& path) {
  std::string content = db::read_file(path, "a recording, or a file of Kernel Tuner");
  const bool is_of_gzip = is_gzip(content);
  if (!is_of_gzip && !db::is_zstd(content)) return content;
  if (is_of_gzip) {
    if (auto plain = gunzip(content, kLargestTextBytes)) return *std::move(plain);
  } else if (const auto plain = db::decompress(db::as_bytes(content), kLargestTextBytes)) {
    return std::string(db::as_text(*plain));
  }
  throw db::StoreError(fmt::format(
      "{}: the {} stream is truncated or corrupt: expected a whole one", path.string(), is_of_gzip ? "gzip" : "zstd"));
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

bool is_gzip(std::string_view bytes) { return bytes.substr(0, 2) == "\x1f\x8b"; }

std::optional<std::string> gunzip(std::string_view bytes, std::size_t limit_bytes) {
  z_stream stream{};
  if (::inflateInit2(&stream, kGzipOnly) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ended(&stream, &::inflateEnd);
  std::string content;
  std::vector<unsigned char> piece(std::size_t{1} << 18);
  while (!bytes.empty()) {
    // zlib counts in 32 bits and takes no const.
    const std::size_t given = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = uInt(given);
    int state = Z_OK;
    do {
      stream.next_out = piece.data();
      stream.avail_out = uInt(piece.size());
      state = ::inflate(&stream, Z_NO_FLUSH);
      if (state == Z_BUF_ERROR) return std::nullopt;  // cut short
      if (state != Z_OK && state != Z_STREAM_END) return std::nullopt;
      const std::size_t made = piece.size() - stream.avail_out;
      if (content.size() + made > limit_bytes) return std::nullopt;
      content.append(reinterpret_cast<const char*>(piece.data()), made);
    } while (state == Z_OK && (stream.avail_in > 0 || stream.avail_out == 0));
    bytes.remove_prefix(given - stream.avail_in);
    if (state == Z_STREAM_END) {
      if (bytes.empty()) return content;
      ::inflateReset(&stream);  // another member
    }
  }
  return std::nullopt;  // ended within a member, or empty
}

LoadedTables load_outcome_tables(const std::filesystem::path& path, std::size_t min_configs) {
  std::string content = text_of(path);
  if (is_recording(content))
    return tables_of(db::parse_recording(std::move(content), path), path.filename().string(), min_configs);
  LoadedTables loaded;
  loaded.tables.push_back(parse_kernel_tuner_file(std::move(content), path));
  return loaded;
}

}  // namespace tilesmith::tuner
