// tilesmith compile, and bundles: what needs NVRTC but no GPU.
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "db/files/bundle.hpp"
#include "runtime/compile/compiler.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

bool no_nvrtc() {
  if (runtime::nvrtc_unavailable_because().empty()) return false;
  WARN("skipped: " << runtime::nvrtc_unavailable_because());
  return true;
}

/// Stores a made-up kernel of every generic config that `status_of(target)` has a status for.
template <typename StatusOf>
void store_generic_kernels(const std::string& path, const DeviceLimits& limits, StatusOf status_of) {
  db::Store store = db::Store::open(path);
  for (const TypePair& type : type_pairs()) {
    for (const Transposes trans : kAllTransposes) {
      const KernelTarget target{{type, trans}, limits};
      const std::optional<db::Status> status = status_of(target);
      if (!status) continue;
      const std::string options = runtime::compiler_options_text(target);
      db::KernelBuild build;
      build.key = {generic_config(target), text(target.signature()), limits.arch,
          kernel_hash(generic_config(target), target, options), options, "1.0"};
      build.status = *status;
      build.cubin.resize(64);
      store.record_build(build);
    }
  }
}

}  // namespace

TEST_CASE("compile keeps cubins in the database and a second run reuses them") {
  if (no_nvrtc()) return;
  const TempFolder folder;
  const std::vector<std::string> arguments{
      "compile", "--arch", "sm_87", "--shape", "64", "--family", "simt", "--max-configs", "2", "--db", "orin.db"};
  const Finished first = run(folder, arguments);
  INFO(first.err);
  REQUIRE(first.status == 0);
  CHECK(contains(first.out, "sm_87  simt"));
  CHECK(contains(first.out, "2 kernels compiled in"));
  const Finished again = run(folder, arguments);
  REQUIRE(again.status == 0);
  CHECK(contains(again.out, "0 kernels compiled in"));
}

TEST_CASE("an architecture that NVRTC is too old for is one line, before anything is written") {
  const TempFolder folder;
  std::filesystem::create_directories(folder.path() / "crt");
  for (const char* header : {"cuda_fp16.h", "cuda_bf16.h", "mma.h", "crt/mma.h"}) write_file(folder / header, "");
  const std::map<std::string, std::string> old{
      {"TILESMITH_NVRTC", TILESMITH_OLD_NVRTC}, {"TILESMITH_CUDA_INCLUDE", folder.path().string()}};
  const Finished refused = run(folder, {"compile", "--arch", "sm_87,sm_120", "--shape", "64", "--db", "new.db"}, old);
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "NVRTC 12.6 is too old for sm_120: expected 12.8 or later"));
  CHECK(lines_of(refused.err) == 1);
  CHECK_FALSE(std::filesystem::exists(folder / "new.db"));
  CHECK_FALSE(
      contains(run(folder, {"compile", "--arch", "sm_87", "--shape", "64", "--max-configs", "1"}, old).err, "too old"));
}

TEST_CASE("compile --first keeps what a tuner would try first or play off, and nothing else") {
  if (no_nvrtc()) return;
  const TempFolder folder;
  const auto arguments = [](const std::string& first) {
    return std::vector<std::string>{"compile", "--arch", "sm_87", "--shape", "64x64x64,72x64x64", "--family", "simt",
        "--first", first, "--db", "orin.db"};
  };
  const Finished one = run(folder, arguments("1"));
  INFO(one.err);
  REQUIRE(one.status == 0);
  CHECK(
      contains(one.err, "sm_87: what would be tried first on a device with 16 SMs; the database has records of none"));
  CHECK(contains(one.out, "\n1 kernel compiled in"));  // the same for both problems
  const db::Store store = db::Store::open(folder / "orin.db");
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, *limits_for_arch("sm_87")};
  CHECK(store.find_build(runtime::kernel_key(generic_config(target), target)));

  // What was best for a problem nearby comes first; what is known of a problem is not tried again.
  db::Record entry;
  entry.device.name = "Orin";
  entry.device.sm = 87;
  entry.device.sm_count = 8;
  entry.task = packed_problem(target, 128, 64, 64);
  entry.config = Config("simt", {{"block_m", 32}, {"block_n", 32}, {"block_k", 8}, {"thread_m", 2}, {"thread_n", 2}});
  entry.environment = {
      runtime::compiler_options_text(target), runtime::nvrtc_version(), "1.0", tuner::kMeasuringPolicy};
  entry.plan_hash = plan_hash(entry.config, entry.task.problem(), entry.environment.compiler_options);
  entry.outcome = {db::Status::ok, "", db::Timing{}};
  entry.outcome.timing->median_us = 3;
  entry.outcome.timing->samples = 5;
  db::Store writable = db::Store::open(folder / "orin.db");
  writable.record(entry);
  const Finished two = run(folder, arguments("1"));
  INFO(two.err);
  CHECK(contains(two.err, "sm_87: what would be tried first on Orin"));
  CHECK(contains(two.out, "\n1 kernel compiled in"));
  CHECK(writable.find_build(runtime::kernel_key(entry.config, target)));
  const Finished known = run(folder,
      {"compile", "--arch", "sm_87", "--shape", "128x64x64", "--family", "simt", "--first", "9", "--db", "orin.db"});
  CHECK(known.status == 0);
  CHECK(contains(known.err, "compiling 2 kernels "));  // the family's own guess, and what is known
  CHECK(contains(known.out, "\n0 kernels compiled in"));

  // What is known by records from elsewhere has no kernel, and would be played off.
  entry.config = Config("simt", {{"block_m", 32}, {"block_n", 32}, {"block_k", 16}, {"thread_m", 2}, {"thread_n", 2}});
  entry.plan_hash = plan_hash(entry.config, entry.task.problem(), entry.environment.compiler_options);
  writable.record(entry);
  const Finished imported = run(folder,
      {"compile", "--arch", "sm_87", "--shape", "128x64x64", "--family", "simt", "--first", "9", "--db", "orin.db"});
  CHECK(contains(imported.out, "\n1 kernel compiled in"));
  CHECK(writable.find_build(runtime::kernel_key(entry.config, target)));
}

TEST_CASE("compile --first goes by the records of the device that it is told, and takes its architecture") {
  if (no_nvrtc()) return;
  const TempFolder folder;
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, *limits_for_arch("sm_87")};
  db::Store store = db::Store::open(folder / "orin.db");
  const auto record = [&](const std::string& device, int block_k, const std::string& created_at) {
    db::Record entry;
    entry.device.name = device;
    entry.device.sm = 87;
    entry.task = packed_problem(target, 128, 64, 64);
    entry.config =
        Config("simt", {{"block_m", 32}, {"block_n", 32}, {"block_k", block_k}, {"thread_m", 2}, {"thread_n", 2}});
    entry.environment = {
        runtime::compiler_options_text(target), runtime::nvrtc_version(), "1.0", tuner::kMeasuringPolicy};
    entry.plan_hash = plan_hash(entry.config, entry.task.problem(), entry.environment.compiler_options);
    entry.outcome = {db::Status::ok, "", db::Timing{}};
    entry.outcome.timing->median_us = 3;
    entry.outcome.timing->samples = 5;
    entry.created_at = created_at;
    store.record(entry);
    return entry.config;
  };
  const Config of_named = record("Orin NX", 8, "2026-01-01T00:00:00.000Z");
  const Config of_latest = record("Orin AGX", 16, "2026-01-02T00:00:00.000Z");
  const auto compile_for = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{
        "compile", "--shape", "128x64x64", "--family", "simt", "--first", "1", "--db", "orin.db"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(folder, arguments);
  };
  const Finished named = compile_for({"--device", "nx"});
  INFO(named.err);
  REQUIRE(named.status == 0);
  CHECK(contains(named.err, "sm_87: what would be tried first on Orin NX"));
  CHECK(store.find_build(runtime::kernel_key(of_named, target)));
  const Finished latest = compile_for({"--arch", "sm_87"});
  REQUIRE(latest.status == 0);
  CHECK(contains(latest.err, "sm_87: what would be tried first on Orin AGX"));
  CHECK(store.find_build(runtime::kernel_key(of_latest, target)));

  const Finished both = compile_for({"--device", "Orin"});
  CHECK(both.status == 2);
  CHECK(contains(both.err, "--device 'Orin': 2 devices match"));
  const Finished elsewhere = compile_for({"--device", "NX", "--arch", "sm_80,sm_90a"});
  CHECK(elsewhere.status == 2);
  CHECK(contains(elsewhere.err, "--device 'NX': Orin NX is of sm_87; expected that among --arch"));
  const Finished among = compile_for({"--device", "NX", "--arch", "sm_80,sm_87"});
  CHECK(among.status == 0);
  CHECK(contains(among.err, "sm_80: what would be tried first on a device with"));
  CHECK(contains(among.err, "sm_87: what would be tried first on Orin NX"));
  CHECK(run(folder, {"compile", "--shape", "64", "--device", "NX", "--db", "orin.db"}).status == 2);  // of no --first
  const Finished missing =
      run(folder, {"compile", "--shape", "64", "--device", "NX", "--first", "1", "--db", "none.db"});
  CHECK(missing.status == 2);
  CHECK_FALSE(std::filesystem::exists(folder / "none.db"));
}

TEST_CASE("compile --first for a device that ran another architecture's code is refused") {
  const TempFolder folder;
  {
    db::Store store = db::Store::open(folder / "proof.db");
    db::Record entry;
    entry.device.name = "NVIDIA H200 as sm_87";
    entry.device.sm = 90;
    entry.task = packed_problem({*find_type_pair("f16f32"), {}}, 64, 64, 64);
    entry.config = Config("simt", {{"block_m", 32}});
    entry.environment = {"x", "13.0", "1.0", tuner::kMeasuringPolicy};
    entry.outcome = {db::Status::spilled, "", {}};
    store.record(entry);
  }
  const Finished result =
      run(folder, {"compile", "--shape", "64", "--device", "as sm_87", "--first", "1", "--db", "proof.db"});
  CHECK(result.status == 2);
  CHECK(contains(result.err, "--device 'as sm_87': ran the code of sm_87"));
}

TEST_CASE("compile --first stands for itself") {
  const TempFolder folder;
  for (const std::vector<std::string>& other : {std::vector<std::string>{"--all"}, {"--max-configs", "4"}}) {
    std::vector<std::string> arguments{
        "compile", "--arch", "sm_87", "--shape", "64", "--first", "2", "--db", "orin.db"};
    arguments.insert(arguments.end(), other.begin(), other.end());
    const Finished result = run(folder, arguments);
    CHECK(result.status == 2);
    CHECK(contains(result.err, "--first"));
    CHECK_FALSE(std::filesystem::exists(folder / "orin.db"));
  }
  CHECK(run(folder, {"compile", "--arch", "sm_87", "--shape", "64", "--first", "0", "--db", "orin.db"}).status == 2);
}

TEST_CASE("compile leaves out what refuses every problem that is named, and goes round the type pairs") {
  if (no_nvrtc()) return;
  const TempFolder folder;
  const Finished named =
      run(folder, {"compile", "--arch", "sm_87", "--shape", "64", "--type", "f64f64,s8s32", "--family", "simt,gemv",
                      "--max-configs", "2", "--compile-jobs", "1", "--db", "orin.db", "--verbose"});
  INFO(named.err);
  REQUIRE(named.status == 0);
  CHECK(contains(named.err, "compiling 4 kernels"));
  CHECK_FALSE(contains(named.out, "gemv"));
  const auto at = [&](const char* type, std::size_t from) { return named.err.find(type, from); };
  const std::size_t first_s8 = at("s8s32 NN", 0);
  REQUIRE(first_s8 != std::string::npos);
  CHECK(at("f64f64 NN", first_s8) != std::string::npos);  // the second of f64f64 comes behind the first of s8s32

  const Finished none =
      run(folder, {"compile", "--arch", "sm_87", "--shape", "64", "--family", "gemv", "--db", "new.db"});
  CHECK(none.status == 2);
  CHECK(contains(none.err, "--family: all configs of the families refuse"));
  CHECK_FALSE(std::filesystem::exists(folder / "new.db"));
}

TEST_CASE("compile ends cleanly on Ctrl-C and goes on when started again") {
  if (no_nvrtc()) return;
  const TempFolder folder;
  const std::vector<std::string> arguments{
      "compile", "--arch", "sm_87", "--family", "simt", "--all", "--shape", "64", "--db", "orin.db", "--verbose"};
  Started started(folder, arguments);
  for (int i = 0; i < 600 && !contains(started.err_so_far(), ": ok"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  started.signal(SIGINT);
  const Finished result = started.wait();
  INFO(result.err);
  CHECK(result.status == 130);
  CHECK(contains(result.out, "interrupted"));
  CHECK_FALSE(contains(result.out, "\n0 kernels compiled"));
}

TEST_CASE("a bundle takes a generic kernel that spills where there is no other") {
  const TempFolder folder;
  const DeviceLimits limits = *limits_for_arch("sm_87");
  const KernelTarget slow{{*find_type_pair("f64f64"), {true, true}}, limits};
  store_generic_kernels(folder / "orin.db", limits, [&](const KernelTarget& target) {
    return std::optional(target.signature() == slow.signature() ? db::Status::spilled : db::Status::ok);
  });
  {
    db::Store store = db::Store::open(folder / "orin.db");
    std::string error;
    db::Record entry;
    entry.task = *parse_problem("f64f64 TT 64 64 64", error);
    entry.config = generic_config(slow);
    entry.device.name = "Orin";
    entry.device.sm = 87;
    entry.environment = {runtime::compiler_options_text(slow), "1.0", "1.0", tuner::kMeasuringPolicy};
    entry.plan_hash = plan_hash(entry.config, entry.task.problem(), entry.environment.compiler_options);
    entry.outcome = {db::Status::ok, "", db::Timing{}};
    entry.outcome.timing->median_us = 3;
    store.record(entry);
    db::VendorTimes vendor;
    vendor.problem = entry.task.problem();
    vendor.device = entry.device;
    vendor.first = vendor.best = {4, 0.01, "#0"};
    vendor.beside.push_back({entry.config, entry.plan_hash, 5});  // of another final benchmark
    store.record_vendor(vendor);
    vendor.beside[0].median_us = 3;
    store.record_vendor(vendor);
  }
  const Finished result = run(folder, {"export", "--format", "bundle", "-o", "orin.tsb", "--db", "orin.db"});
  INFO(result.err);
  REQUIRE(result.status == 0);
  const db::Bundle bundle = db::load_bundle(folder / "orin.tsb");
  CHECK(bundle.bests.size() == 1);
  std::size_t spilled = 0;
  for (const db::KernelBuild& build : bundle.builds) spilled += build.status == db::Status::spilled ? 1 : 0;
  CHECK(spilled == 1);
  REQUIRE(bundle.vendor.size() == 1);
  CHECK(bundle.vendor[0].is_beside(bundle.bests[0]));
}

TEST_CASE("a bundle holds the bests' kernels and the generic kernels of every type pair and transposes") {
  if (no_nvrtc()) return;
  const TempFolder folder;
  make_database(folder / "tuned.db");
  // The bests' kernels and two generic ones are left to compile.
  store_generic_kernels(folder / "tuned.db", *limits_for_arch("sm_90a"), [](const KernelTarget& target) {
    const std::string of = text(target.signature());
    return of == "f16f32 TT" || of == "e5m2f32bf16 NT" ? std::nullopt : std::optional(db::Status::ok);
  });
  const Finished result = run(folder, {"export", "--format", "bundle", "-o", "h200.tsb", "--db", "tuned.db"});
  INFO(result.err);
  REQUIRE(result.status == 0);
  CHECK(contains(result.err, "2 bests of NVIDIA H200 and 116 generic kernels"));
  CHECK(contains(result.err, "(4 kernels compiled now"));
  const db::Bundle bundle = db::load_bundle(folder / "h200.tsb");
  CHECK(bundle.arch == "sm_90a");
  CHECK(bundle.bests.size() == 2);
  CHECK(bundle.builds.size() >= 36);
  CHECK(run(folder, {"import", "h200.tsb", "--db", "other.db"}).status == 0);
}
