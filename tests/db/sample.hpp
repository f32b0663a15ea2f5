// Made-up entries and a folder to keep files in, for the tests of db/.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "db/store/free_query.hpp"
#include "db/store/store.hpp"

namespace tilesmith::db::test {

/// A fresh folder under the system's temporary one, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tilesmith-db-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(const char* name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  /// Names of the files in it, sorted, space-separated.
  std::string listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : " ") + name;
    return all;
  }

 private:
  std::filesystem::path path_;
};

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void spill(const std::filesystem::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// The message of the StoreError that `action` throws; "no error" if it throws none.
template <typename Action>
std::string store_error(Action&& action) {
  try {
    action();
  } catch (const StoreError& error) {
    return error.what();
  }
  return "no error";
}

/// What a statement of the user's own finds, as texts; NULL is "".
inline std::vector<std::vector<std::string>> rows_of(const Store& store, const std::string& sql) {
  std::vector<std::vector<std::string>> rows;
  for (const std::vector<SqlValue>& values : free_query(store, sql).rows) {
    std::vector<std::string>& row = rows.emplace_back();
    for (const SqlValue& value : values) row.push_back(value.text);
  }
  return rows;
}

inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
inline bool is_one_line(const std::string& text) { return !text.empty() && !contains(text, "\n"); }

inline DeviceIdentity sample_device() { return {"NVIDIA H200", 90, 132, 62914560, 233472, 4800, ""}; }
inline DeviceIdentity other_device() { return {"Orin", 87, 16, 4194304, 167936, 200, "MAXN"}; }
inline Environment sample_environment() { return {"--gpu-architecture=sm_90a", "13.0", "580.1", "cold-1"}; }

inline Config sample_config(int stages = 1) { return Config("wmma", {{"frag_m", 16}, {"stages", stages}}); }

inline Problem sample_problem(const std::string& text = "f16f32 NN 64 64 64") {
  std::string error;
  return parse_problem(text, error).value();
}

inline Record right(
    double median_us, const Config& config = sample_config(), const Problem& problem = sample_problem()) {
  Record entry;
  entry.task = problem;
  entry.config = config;
  entry.device = sample_device();
  entry.environment = sample_environment();
  entry.outcome = {Status::ok, "", Timing{median_us, 0.01, 21, 1980, 45.5, 320.25, 1.002}};
  entry.run = "run-1";
  return entry;
}

inline Record failed(Status status, const std::string& message, const Config& config = sample_config(),
    const Problem& problem = sample_problem()) {
  Record entry = right(1, config, problem);
  entry.outcome = {status, message, std::nullopt};
  return entry;
}

/// Twice as slow as the entry beside it, its best a quarter faster than its first choice.
inline VendorTimes vendor_beside(const Record& entry) {
  VendorTimes times;
  times.problem = entry.task.problem();
  times.device = entry.device;
  times.vendor_version = "13.1.0";
  times.driver_version = entry.environment.driver_version;
  times.measuring_policy = entry.environment.measuring_policy;
  const double us = entry.outcome.timing->median_us;
  times.first = {2 * us, 0.01, "#0"};
  times.best = {1.5 * us, 0.02, "#3 id=66"};
  times.offered = 8;
  times.timed = 7;
  times.samples = 21;
  times.clock_mhz = 1980;
  times.temperature_c = 45.5;
  times.power_w = 320.25;
  times.drift = 1.002;
  times.beside.push_back({entry.config, entry.plan_hash, us});
  times.run = entry.run;
  return times;
}

inline std::vector<std::byte> sample_cubin(int seed = 1, std::size_t bytes = 5000) {
  std::vector<std::byte> cubin(bytes);
  for (std::size_t i = 0; i < bytes; ++i) cubin[i] = std::byte((i * std::size_t(seed) / 7) & 0xff);
  return cubin;
}

/// The problem of an entry, to be changed.
template <typename Change>
void change_problem(Record& entry, Change&& change) {
  Problem problem = entry.task.problem();
  change(problem);
  entry.task = problem;
}

inline KernelKey sample_key(const Config& config = sample_config()) {
  return {config, "f16f32 NN", "sm_90a", "hash-1", "--gpu-architecture=sm_90a", "13.0"};
}

inline KernelBuild sample_build(const Config& config = sample_config(), int seed = 1) {
  return {sample_key(config), Status::ok, "", 168, 0, 1024, sample_cubin(seed)};
}

}  // namespace tilesmith::db::test
