// A database made on the spot for the device under test: records for chosen problems, and compiled kernels.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "db/files/bundle.hpp"
#include "db/store/store.hpp"
#include "kernels/families/family.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/driver/device.hpp"

namespace tilesmith::test {

/// A folder of its own, removed at the end.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tilesmith-gpu-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    path_ = name;
  }
  ~TempFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::filesystem::path operator/(const std::string& file) const { return path_ / file; }

 private:
  std::filesystem::path path_;
};

inline Problem problem_of(const std::string& canonical) {
  std::string error;
  const auto parsed = parse_problem(canonical, error);
  if (!parsed) throw std::runtime_error(error);
  return *parsed;
}

inline KernelTarget target_of(const Problem& problem, const runtime::DeviceInfo& info) {
  return {problem, info.limits};
}

/// A legal simt config that is not the generic one.
inline Config small_simt() {
  return Config("simt", {{"block_m", 32}, {"block_n", 32}, {"block_k", 16}, {"thread_m", 4}, {"thread_n", 4}});
}

/// As if the tuner had found the config right and timed it just now.
inline db::Record record_of(const Problem& problem, const Config& config, const runtime::DeviceInfo& info) {
  db::Record entry;
  entry.task = problem;
  entry.config = config;
  entry.device = info.identity;
  entry.environment = {runtime::compiler_options_text(target_of(problem, info)), runtime::nvrtc_version(),
      info.driver_version, "test-1"};
  entry.plan_hash = plan_hash(config, problem, entry.environment.compiler_options);
  entry.outcome.status = db::Status::ok;
  entry.outcome.timing = db::Timing{};
  entry.outcome.timing->median_us = 12.5;
  entry.outcome.timing->samples = 9;
  entry.run = db::new_uuid();
  entry.origin = "test";
  entry.created_at = db::now_utc();
  return entry;
}

inline db::KernelBuild build_of(const Problem& problem, const Config& config, const runtime::DeviceInfo& info) {
  db::KernelBuild build = runtime::compile(config, target_of(problem, info));
  if (build.cubin.empty()) throw std::runtime_error(config.text() + " does not compile: " + build.message);
  return build;
}

/// Records the candidate with its kernel.
inline void tune_by_hand(
    db::Store& store, const std::string& canonical, const Config& config, const runtime::DeviceInfo& info) {
  const Problem problem = problem_of(canonical);
  store.record(record_of(problem, config, info));
  store.record_build(build_of(problem, config, info));
}

}  // namespace tilesmith::test
