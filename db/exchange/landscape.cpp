#include "db/exchange/landscape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "db/files/compress.hpp"
#include "db/exchange/evidence_json.hpp"
#include "db/exchange/export.hpp"
#include "db/files/files.hpp"
#include "kernels/families/device_limits.hpp"

namespace tilesmith::db {
namespace {

constexpr int kLandscapeVersion = 1;
constexpr const char* kVersionKey = "tilesmith_landscape";
constexpr std::size_t kLargestTextBytes = std::size_t{4} << 30;

[[noreturn]] void refuse(const std::filesystem::path& path, std::size_t line, std::string_view reason) {
  throw StoreError(fmt::format("{}:{}: {}", path.string(), line, reason));
}

std::string key_of(const Problem& problem, const Config& config) { return text(problem) + '\n' + config.text(); }

/// The file's text, decompressed if it is zstd-compressed (by its content; the name need not say so).
std::string landscape_text(std::string content, const std::filesystem::path& path) {
  if (content.empty()) refuse(path, 1, fmt::format("is empty: expected a line with \"{}\"", kVersionKey));
  if (!is_zstd(content)) return content;
  const auto plain = decompress(as_bytes(content), kLargestTextBytes);
  if (!plain) refuse(path, 1, "the zstd stream is truncated or corrupt: expected a whole one");
  if (plain->empty()) refuse(path, 1, fmt::format("is empty once decompressed: expected a line with \"{}\"", kVersionKey));
  return std::string(as_text(*plain));
}

/// What the first line says, and the defaults it gives to the others.
struct Header {
  Landscape landscape;
  std::string origin, run, made_at;
};

Header read_header(std::string_view line) {
  Json json;
  try {
    json = parse_json(line);
  } catch (const FormatError&) {  // told below, in the words that help: what the file should be
  }
  if (!json.is_object() || !json.contains(kVersionKey)) {
    throw FormatError(fmt::format("is no recorded landscape: expected a first line with \"{}\"", kVersionKey));
  }
  if (integer_at(json, kVersionKey, 1, 1 << 30) > kLandscapeVersion) {
    throw FormatError(fmt::format("landscape version {} is newer than this program's: expected {}",
                                  to_line(json[kVersionKey]), kLandscapeVersion));
  }
  Header header;
  header.landscape.device = device_from_json(object_at(json, "device"));
  header.landscape.arch = text_at(json, "limits");
  if (!limits_for_arch(header.landscape.arch)) {
    throw FormatError(fmt::format("\"limits\" is '{}': expected one of {}", header.landscape.arch, supported_archs()));
  }
  for (const auto& [family, producer] : object_at(json, "producer").items()) {
    header.landscape.producers.emplace(family, producer_from_json(producer));
  }
  header.origin = text_at(json, "origin", "");
  header.run = text_at(json, "run", "");
  header.made_at = text_at(json, "made_at", "");
  return header;
}

Evidence read_entry(std::string_view line, const Header& header) {
  const Json json = parse_json(line);
  Evidence entry = outcome_from_json(json);
  entry.device = header.landscape.device;
  if (json.contains("producer")) {
    entry.producer = producer_from_json(object_at(json, "producer"));
  } else {
    const auto producer = header.landscape.producers.find(entry.config.family());
    if (producer == header.landscape.producers.end()) {
      throw FormatError(fmt::format("family '{}' has no producer in the first line: expected one", entry.config.family()));
    }
    entry.producer = producer->second;
  }
  if (!json.contains("origin")) entry.origin = header.origin;
  if (!json.contains("run")) entry.run = header.run;
  if (!json.contains("created_at")) entry.created_at = header.made_at;
  require_consistent(entry);
  return entry;
}

/// The value that most entries have; it goes into the header once.
std::string most_frequent(const std::vector<Evidence>& entries, std::string Evidence::*field) {
  std::unordered_map<std::string, std::size_t> counts;
  for (const Evidence& entry : entries) ++counts[entry.*field];
  const auto top = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second < b.second : a.first > b.first;
  });
  return top == counts.end() ? std::string() : top->first;
}

/// Precondition: all entries are of one device, that of these limits; latest first.
std::string landscape_lines(const std::vector<Evidence>& entries, const DeviceLimits& limits) {
  std::unordered_map<std::string, Producer> producers;  // the latest entry's, a family
  for (const Evidence& entry : entries) producers.emplace(entry.config.family(), entry.producer);
  std::vector<std::string> families;
  for (const auto& [family, producer] : producers) families.push_back(family);
  std::sort(families.begin(), families.end());

  Json header = {{kVersionKey, kLandscapeVersion}};
  header["device"] = to_json(entries.front().device);
  header["limits"] = limits.arch;
  header["producer"] = Json::object();
  for (const std::string& family : families) header["producer"][family] = to_json(producers.at(family));
  const std::string origin = most_frequent(entries, &Evidence::origin);
  const std::string run = most_frequent(entries, &Evidence::run);
  header["origin"] = origin;
  header["run"] = run;
  header["made_at"] = now_utc();

  std::map<std::string, const Evidence*> by_key;  // like lines side by side compress well
  for (const Evidence& entry : entries) by_key.emplace(key_of(entry.problem, entry.config), &entry);
  std::string lines = to_line(header) + "\n";
  for (const auto& [key, entry] : by_key) {
    Json json;
    put_outcome(json, *entry);
    if (entry->origin == origin) json.erase("origin");  // the header says it
    if (entry->run == run) json.erase("run");
    if (!(entry->producer == producers.at(entry->config.family()))) json["producer"] = to_json(entry->producer);
    lines += to_line(json) + "\n";
  }
  return lines;
}

}  // namespace

const Evidence* Landscape::find(const Problem& problem, const Config& config) const {
  const auto found = index.find(key_of(problem, config));
  return found == index.end() ? nullptr : &entries[found->second];
}

Landscape load_landscape(const std::filesystem::path& path) {
  return parse_landscape(read_file(path, "a recorded landscape"), path);
}

Landscape parse_landscape(std::string content, const std::filesystem::path& path) {
  content = landscape_text(std::move(content), path);
  Header header;
  std::size_t line_number = 0;
  std::string_view rest = content;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    ++line_number;
    try {
      if (line_number == 1) {
        header = read_header(line);
        continue;
      }
      if (line.empty()) continue;
      Landscape& landscape = header.landscape;
      Evidence entry = read_entry(line, header);
      if (!landscape.index.emplace(key_of(entry.problem, entry.config), landscape.entries.size()).second) {
        throw FormatError("the same problem and config a second time: expected each once");
      }
      landscape.entries.push_back(std::move(entry));
    } catch (const FormatError& error) {
      refuse(path, line_number, error.what());
    }
  }
  return std::move(header.landscape);
}

void save_landscape(const Store& store, const EvidenceFilter& filter, const std::filesystem::path& path) {
  EvidenceFilter latest = filter;
  latest.latest_only = true;
  const std::vector<Evidence> entries = store.evidence(latest);
  std::set<std::string> devices;
  for (const Evidence& entry : entries) devices.insert(text(entry.device));
  if (devices.size() != 1) {
    throw StoreError(fmt::format("{}: the filter lets through evidence of {} devices: expected exactly one for a landscape",
                                 store.path().string(), devices.size()));
  }
  const int sm = entries.front().device.sm;
  const auto limits = limits_for_sm(sm);
  if (!limits) {
    throw StoreError(fmt::format("{}: the device is of sm_{}: expected one of {}", store.path().string(), sm,
                                 supported_archs()));
  }
  const std::string lines = landscape_lines(entries, *limits);
  if (path.extension() != ".zst") return write_file_atomically(path, lines);
  write_file_atomically(path, as_text(compress(as_bytes(lines), 19)));
}

}  // namespace tilesmith::db
