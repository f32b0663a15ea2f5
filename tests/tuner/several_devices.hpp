// Recordings that stand for several devices, and what became of a run on them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "db/store/task_locks.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

namespace tilesmith::tests {

inline db::DeviceIdentity other_model() {
  db::DeviceIdentity device = made_device();
  device.name = "NVIDIA H100";
  device.sm_count = 114;
  return device;
}

inline std::vector<Problem> problems_of(int count) {
  std::vector<Problem> problems;
  for (int k = 64; k <= 64 * count; k += 64)
    problems.push_back(packed_problem({*find_type_pair("f16f32"), {}}, 64, 64, k));
  return problems;
}

/// A workload of so many problems, and recordings of two models that know so many configs of each.
inline void prepare(const TempFolder& folder, int problems, std::size_t configs) {
  std::string workload;
  for (const Problem& problem : problems_of(problems)) workload += text(problem) + '\n';
  write_file(folder / "workload.txt", workload);
  db::Store h200 = db::Store::in_memory(), h100 = db::Store::in_memory();
  for (db::Record& entry : made_record(problems_of(problems), configs)) {
    h200.record(entry);
    entry.device = other_model();
    h100.record(entry);
  }
  db::save_recording(h200, {}, folder / "h200.jsonl");
  db::save_recording(h100, {}, folder / "h100.jsonl");
}

/// One record a candidate: no final benchmark.
inline std::vector<std::string> tune_on(
    const std::vector<std::string>& recordings, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"tune", "--workload", "workload.txt", "--strategy", "exhaustive", "--family",
      "simt", "--device", "all", "--finalists", "1", "--db", "tuned.db"};
  for (const std::string& recording : recordings) arguments.insert(arguments.end(), {"--replay", recording});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// How often each candidate of each device was tried.
inline std::map<std::string, int> tries(const TempFolder& folder) {
  const db::Store store = db::Store::open_read_only(folder / "tuned.db");
  CHECK(store.integrity_error().empty());
  std::map<std::string, int> counts;
  for (const db::Record& entry : store.records())
    ++counts[db::text(entry.device) + '\n' + text(entry.task.problem()) + '\n' + entry.config.text()];
  return counts;
}

inline bool each_once(const std::map<std::string, int>& counts) {
  for (const auto& [candidate, count] : counts) {
    if (count != 1) return false;
  }
  return true;
}

inline std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// A file of /proc; empty if its process has gone meanwhile.
inline std::string read_proc(const std::filesystem::path& path) {
  try {
    return read_file(path);
  } catch (const std::exception&) {
    return {};
  }
}

inline std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string status = read_proc(entry.path() / "stat");
    const std::size_t after_name = status.rfind(')');
    if (after_name == std::string::npos || after_name + 4 > status.size() || status[after_name + 2] == 'Z') continue;
    if (std::strtol(status.c_str() + after_name + 4, nullptr, 10) == parent) children.push_back(pid_t(std::stol(name)));
  }
  return children;
}

inline bool await(const std::function<bool()>& condition, std::chrono::seconds most = std::chrono::seconds(10)) {
  const auto until = std::chrono::steady_clock::now() + most;
  do {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

/// With --verbose: devices 0 and 1 have told of outcomes, or that none is left for them.
inline bool both_work(const Started& started) {
  const std::string told = started.err_so_far();
  return contains(told, "[device 0] ") && contains(told, "[device 1] ");
}

/// Keeps a run that needs the last problem from ending before its test is done with it.
inline std::optional<db::TaskLock> lock_last(const TempFolder& folder, int problems) {
  return db::TaskLocks(db::Store::open(folder / "tuned.db")).take(made_device(), problems_of(problems).back());
}

}  // namespace tilesmith::tests
