#include "db/exchange/recording.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "db/exchange/export.hpp"
#include "db/exchange/record_json.hpp"
#include "db/files/compress.hpp"
#include "db/files/files.hpp"
#include "kernels/families/device_limits.hpp"

namespace tilesmith::db {
namespace {

constexpr int kRecordingVersion = 1;
constexpr const char* kVersionKey = "tilesmith_recording";
constexpr std::size_t kLargestTextBytes = std::size_t{4} << 30;

[[noreturn]] void refuse(const std::filesystem::path& path, std::size_t line, std::string_view reason) {
  throw StoreError(fmt::format("{}:{}: {}", path.string(), line, reason));
}

std::string key_of(const Task& task, const Config& config) { return text(task) + '\n' + config.text(); }

/// The file's text, decompressed if it is zstd-compressed (by its content; the name need not say so).
std::string recording_text(std::string content, const std::filesystem::path& path) {
  if (content.empty()) refuse(path, 1, fmt::format("is empty: expected a line with \"{}\"", kVersionKey));
  if (!is_zstd(content)) return content;
  const auto plain = decompress(as_bytes(content), kLargestTextBytes);
  if (!plain) refuse(path, 1, "the zstd stream is truncated or corrupt: expected a whole one");
  if (plain->empty())
    refuse(path, 1, fmt::format("is empty once decompressed: expected a line with \"{}\"", kVersionKey));
  return std::string(as_text(*plain));
}

/// What the first line says, and the defaults it gives to the others.
struct Header {
  Recording recording;
  std::string origin, run, made_at;
};

Header read_header(std::string_view line) {
  Json json;
  try {
    json = parse_json(line);
  } catch (const FormatError&) {  // told below, in the words that help: what the file should be
  }
  if (!json.is_object() || !json.contains(kVersionKey)) {
    throw FormatError(fmt::format("is no recording: expected a first line with \"{}\"", kVersionKey));
  }
  if (integer_at(json, kVersionKey, 1, 1 << 30) > kRecordingVersion) {
    throw FormatError(fmt::format("recording version {} is newer than this program's: expected {}",
        to_line(json[kVersionKey]), kRecordingVersion));
  }
  Header header;
  header.recording.device = device_from_json(object_at(json, "device"));
  header.recording.arch = text_at(json, "limits");
  if (!limits_for_arch(header.recording.arch)) {
    throw FormatError(fmt::format("\"limits\" is '{}': expected one of {}", header.recording.arch, supported_archs()));
  }
  for (const auto& [family, environment] : object_at(json, "environment").items()) {
    header.recording.environments.emplace(family, fields_from<Environment>(environment));
  }
  header.origin = text_at(json, "origin", "");
  header.run = text_at(json, "run", "");
  header.made_at = text_at(json, "made_at", "");
  return header;
}

Record read_entry(std::string_view line, const Header& header) {
  const Json json = parse_json(line);
  Record entry = outcome_from_json(json);
  entry.device = header.recording.device;
  if (json.contains("environment")) {
    entry.environment = fields_from<Environment>(object_at(json, "environment"));
  } else {
    const auto environment = header.recording.environments.find(entry.config.family());
    if (environment == header.recording.environments.end()) {
      throw FormatError(
          fmt::format("family '{}' has no environment in the first line: expected one", entry.config.family()));
    }
    entry.environment = environment->second;
  }
  if (!json.contains("origin")) entry.origin = header.origin;
  if (!json.contains("run")) entry.run = header.run;
  if (!json.contains("created_at")) entry.created_at = header.made_at;
  require_consistent(entry);
  return entry;
}

/// Precondition: all entries are of one device, that of these limits; latest first.
std::string recording_lines(const std::vector<Record>& entries, const DeviceLimits& limits) {
  std::map<std::string, Environment> environments;  // the latest entry's, a family
  for (const Record& entry : entries) environments.emplace(entry.config.family(), entry.environment);
  Json header = {{kVersionKey, kRecordingVersion}};
  header["device"] = to_json(entries.front().device);
  header["limits"] = limits.arch;
  header["environment"] = Json::object();
  for (const auto& [family, environment] : environments) put_fields(header["environment"][family], environment);
  header["made_at"] = now_utc();

  std::map<std::string, const Record*> by_key;  // like lines side by side compress well
  for (const Record& entry : entries) by_key.emplace(key_of(entry.task, entry.config), &entry);
  std::string lines = to_line(header) + "\n";
  for (const auto& [key, entry] : by_key) {
    Json json;
    put_outcome(json, *entry);
    if (!(entry->environment == environments.at(entry->config.family())))
      put_fields(json["environment"], entry->environment);
    lines += to_line(json) + "\n";
  }
  return lines;
}

}  // namespace

const Record* Recording::find(const Task& task, const Config& config) const {
  const auto found = index.find(key_of(task, config));
  return found == index.end() ? nullptr : &entries[found->second];
}

Recording load_recording(const std::filesystem::path& path) {
  return parse_recording(read_file(path, "a recording"), path);
}

Recording parse_recording(std::string content, const std::filesystem::path& path) {
  content = recording_text(std::move(content), path);
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
      Recording& recording = header.recording;
      Record entry = read_entry(line, header);
      if (!recording.index.emplace(key_of(entry.task, entry.config), recording.entries.size()).second) {
        throw FormatError("the same task and config a second time: expected each once");
      }
      recording.entries.push_back(std::move(entry));
    } catch (const FormatError& error) {
      refuse(path, line_number, error.what());
    }
  }
  return std::move(header.recording);
}

void save_recording(const Store& store, const RecordFilter& filter, const std::filesystem::path& path) {
  RecordFilter latest = filter;
  latest.latest_only = true;
  const std::vector<Record> entries = store.records(latest);
  std::set<std::string> devices;
  for (const Record& entry : entries) devices.insert(text(entry.device));
  if (devices.size() != 1) {
    throw StoreError(
        fmt::format("{}: the filter lets through records of {} devices: expected exactly one for a recording",
            store.path().string(), devices.size()));
  }
  const int sm = entries.front().device.sm;
  const auto limits = limits_for_sm(sm);
  if (!limits) {
    throw StoreError(
        fmt::format("{}: the device is of sm_{}: expected one of {}", store.path().string(), sm, supported_archs()));
  }
  const std::string lines = recording_lines(entries, *limits);
  if (path.extension() != ".zst") return write_file_atomically(path, lines);
  write_file_atomically(path, as_text(compress(as_bytes(lines), 19)));
}

}  // namespace tilesmith::db
