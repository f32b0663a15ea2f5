// A recording: outcomes of (part of) a space on one device, replayable without it. JSON lines, zstd-compressed
// where the file's name ends in .zst (on reading, its content decides).
//   first line  {"tilesmith_recording":1,"device":{..},"limits":"sm_90a","environment":{"wmma":{..},..},
//                "origin":"..","run":"..","made_at":".."}
//   then        {"problem":"f16f32 NN 64 64 64","config":"wmma{..}","status":"ok","median_us":..,"spread":..,..}
// A line may have an "origin", "run", "created_at" or "environment" of its own; without one the first line's holds
// (made_at for created_at, the config's family's environment). Each problem and config come once.
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "db/store/store.hpp"

namespace tilesmith::db {

struct Recording {
  DeviceIdentity device;
  std::string arch;
  std::unordered_map<std::string, Environment> environments;  ///< by family
  std::vector<Record> entries;

  /// The recorded outcome of a candidate, or nullptr.
  const Record* find(const Task& task, const Config& config) const;

  std::unordered_map<std::string, std::size_t> index;  ///< task text + '\n' + config text → entry
};

/// Throws StoreError naming file, line and what was expected.
Recording load_recording(const std::filesystem::path& path);
/// The same of what was read already, out of a pipe too; `path` is for errors.
Recording parse_recording(std::string content, const std::filesystem::path& path);
/// Writes the latest record of every candidate on one device. Written to a temporary file, then renamed.
void save_recording(const Store& store, const RecordFilter& filter, const std::filesystem::path& path);

}  // namespace tilesmith::db
