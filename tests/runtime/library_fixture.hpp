// A library on a driver that has no device behind it, and a small database.
#pragma once

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "db/store/store.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/interface/gemm.hpp"
#include "runtime/interface/tilesmith.h"
#include "tests/catch.hpp"
#include "tests/runtime/fake_driver.hpp"

namespace tilesmith::runtime::fake {

inline thread_local CUcontext current_context = nullptr;

/// A driver without a device behind it, that reports an H200-like one and notes what it is asked.
class LibraryFixture {
 public:
  LibraryFixture() : table_(make_table()), driver_(table_), folder_(make_folder()) {
    state() = State();
    current_context = nullptr;
    auto& attributes = state().attributes;
    attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 9;
    attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 132;
    attributes[CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = 50 << 20;
    info = device_info(0);
    logged().str("");
  }
  LibraryFixture(const LibraryFixture&) = delete;
  LibraryFixture& operator=(const LibraryFixture&) = delete;
  ~LibraryFixture() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }

  /// Lines that the library logged.
  static std::ostringstream& logged() {
    static std::ostringstream stream;
    static const bool registered = [] {
      spdlog::register_logger(
          std::make_shared<spdlog::logger>("tilesmith", std::make_shared<spdlog::sinks::ostream_sink_mt>(stream)));
      return true;
    }();
    (void)registered;
    return stream;
  }

  std::filesystem::path path(const std::string& file) const { return folder_ / file; }

  static Problem problem(const std::string& canonical) {
    std::string error;
    const auto parsed = parse_problem(canonical, error);
    if (!parsed) throw std::runtime_error(error);
    return *parsed;
  }

  static Config simt(int block) {
    return Config("simt", {{"block_m", block}, {"block_n", block}, {"block_k", 16}, {"thread_m", 4}, {"thread_n", 4}});
  }

  db::Record record(const std::string& where, const Config& config, double median_us) const {
    db::Record entry;
    entry.task = problem(where);
    entry.config = config;
    entry.device = info.identity;
    entry.environment = {compiler_options_text(target(entry.task.problem())), "12.6", info.driver_version, "cold-1"};
    entry.plan_hash = plan_hash(config, entry.task.problem(), entry.environment.compiler_options);
    entry.outcome.status = db::Status::ok;
    entry.outcome.timing = db::Timing{};
    entry.outcome.timing->median_us = median_us;
    entry.outcome.timing->samples = 9;
    entry.run = "00000000-0000-4000-8000-000000000000";
    entry.origin = "test";
    entry.created_at = "2026-01-01T00:00:00.000Z";
    return entry;
  }

  db::KernelBuild build(const std::string& where, const Config& config) const {
    const Problem on = problem(where);
    db::KernelBuild made;
    made.key = {config, text(on.signature()), info.limits.arch,
        kernel_hash(config, on, compiler_options_text(target(on))), compiler_options_text(target(on)), "12.6"};
    made.status = db::Status::ok;
    const std::string image = ".version 8.0 // stands for a cubin\n";
    made.cubin.resize(image.size());
    std::memcpy(made.cubin.data(), image.data(), image.size());
    return made;
  }

  KernelTarget target(const Problem& on) const { return {on, info.limits}; }

  /// A database with one tuned problem, its kernel, and the generic kernel of f16f32 NN.
  std::filesystem::path small_database() const {
    db::Store store = db::Store::open(path("small.db"));
    store.record(record("f16f32 NN 512 512 512", simt(32), 9.5));
    store.record_build(build("f16f32 NN 512 512 512", simt(32)));
    return path("small.db");
  }

  DeviceInfo info;

 private:
  static Driver make_table() {
    Driver made = table();
    made.ctx_get_current = [](CUcontext* context) {
      *context = current_context;
      return CUDA_SUCCESS;
    };
    made.ctx_set_current = [](CUcontext context) {
      current_context = context;
      return CUDA_SUCCESS;
    };
    return made;
  }
  static std::filesystem::path make_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tilesmith-api-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    return name;
  }

  Driver table_;
  ScopedDriver driver_;
  std::filesystem::path folder_;
};

inline const void* address(std::uintptr_t value) { return reinterpret_cast<const void*>(value); }
inline void* writable(std::uintptr_t value) { return reinterpret_cast<void*>(value); }

/// In C, on a database, and compiling nothing.
inline tilesmith_library* open_stored_in_c(const std::filesystem::path& database) {
  tilesmith_options options = TILESMITH_OPTIONS;
  tilesmith_library* library = nullptr;
  options.allow_compile = 0;
  REQUIRE(tilesmith_open_with_options(database.c_str(), &options, &library) == TILESMITH_OK);
  return library;
}

/// What a line of a workload says.
inline tilesmith_problem problem_in_c(const char* text) {
  tilesmith_problem problem = TILESMITH_PROBLEM;
  REQUIRE(tilesmith_problem_parse(&problem, text) == TILESMITH_OK);
  return problem;
}

/// C and D are one; α and β of null are 1 and 0.
inline tilesmith_run run_in_c(
    std::uintptr_t a, std::uintptr_t b, std::uintptr_t d, const void* alpha = nullptr, const void* beta = nullptr) {
  tilesmith_run run = {sizeof run, nullptr, {address(a), address(b), nullptr, address(d)}};
  run.operands[TILESMITH_ALPHA] = alpha;
  run.operands[TILESMITH_BETA] = beta;
  return run;
}

inline LibraryOptions stored_only() {
  LibraryOptions options;
  options.allow_compile = false;
  return options;
}

}  // namespace tilesmith::runtime::fake
