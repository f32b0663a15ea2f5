// tilesmith compile, and bundles: what needs NVRTC but no GPU.
#include <chrono>
#include <filesystem>
#include <thread>

#include "db/bundle.hpp"
#include "runtime/compiler.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/made_landscape.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

bool no_nvrtc() {
  if (runtime::nvrtc_unavailable_because().empty()) return false;
  WARN("skipped: " << runtime::nvrtc_unavailable_because());
  return true;
}

}  // namespace

TEST_CASE("compile keeps cubins in the database and a second run reuses them") {
  if (no_nvrtc()) return;
  const TempFolder folder;
  const std::vector<std::string> arguments{"compile", "--arch",        "sm_87", "--shape", "64",     "--family",
                                           "simt",    "--max-configs", "2",     "--db",    "orin.db"};
  const Finished first = run(folder, arguments);
  INFO(first.err);
  REQUIRE(first.status == 0);
  CHECK(contains(first.out, "sm_87  simt"));
  CHECK(contains(first.out, "2 kernels compiled in"));
  const Finished again = run(folder, arguments);
  REQUIRE(again.status == 0);
  CHECK(contains(again.out, "0 kernels compiled in"));
}

TEST_CASE("compile --first keeps what a tuner would try first or play off, and nothing else") {
  if (no_nvrtc()) return;
  const TempFolder folder;
  const auto arguments = [](const std::string& first) {
    return std::vector<std::string>{"compile", "--arch", "sm_87", "--shape", "64x64x64,72x64x64", "--family", "simt",
                                    "--first", first,    "--db",  "orin.db"};
  };
  const Finished one = run(folder, arguments("1"));
  INFO(one.err);
  REQUIRE(one.status == 0);
  CHECK(
      contains(one.err, "sm_87: what would be tried first on a device with 16 SMs; the database has evidence of none"));
  CHECK(contains(one.out, "\n1 kernel compiled in"));  // the same for both problems
  const db::Store store = db::Store::open(folder / "orin.db");
  const KernelTarget target{*find_type_pair("f16f32"), {}, *limits_for_arch("sm_87")};
  CHECK(store.find_build(runtime::kernel_key(generic_config(target), target)));

  // What was best for a problem nearby comes first; what is known of a problem is not tried again.
  db::Evidence entry;
  entry.device.name = "Orin";
  entry.device.sm = 87;
  entry.device.sm_count = 8;
  entry.problem = packed_problem(target.type, target.trans, 128, 64, 64);
  entry.config = Config("simt", {{"block_m", 32}, {"block_n", 32}, {"block_k", 8}, {"thread_m", 2}, {"thread_n", 2}});
  entry.producer = {template_hash("simt"), runtime::compiler_options_text(target), runtime::nvrtc_version(), "1.0",
                    tuner::kMeasuringPolicy};
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
  const Finished known = run(folder, {"compile", "--arch", "sm_87", "--shape", "128x64x64", "--family", "simt",
                                      "--first", "9", "--db", "orin.db"});
  CHECK(known.status == 0);
  CHECK(contains(known.err, "compiling 2 kernels "));  // the family's own guess, and what is known
  CHECK(contains(known.out, "\n0 kernels compiled in"));

  // What is known by evidence from elsewhere has no kernel, and would be played off.
  entry.config = Config("simt", {{"block_m", 32}, {"block_n", 32}, {"block_k", 16}, {"thread_m", 2}, {"thread_n", 2}});
  writable.record(entry);
  const Finished imported = run(folder, {"compile", "--arch", "sm_87", "--shape", "128x64x64", "--family", "simt",
                                         "--first", "9", "--db", "orin.db"});
  CHECK(contains(imported.out, "\n1 kernel compiled in"));
  CHECK(writable.find_build(runtime::kernel_key(entry.config, target)));
}

TEST_CASE("compile --first stands for itself") {
  const TempFolder folder;
  for (const std::vector<std::string>& other : {std::vector<std::string>{"--all"}, {"--max-configs", "4"}}) {
    std::vector<std::string> arguments{"compile", "--arch", "sm_87", "--shape", "64",
                                       "--first", "2",      "--db",  "orin.db"};
    arguments.insert(arguments.end(), other.begin(), other.end());
    const Finished result = run(folder, arguments);
    CHECK(result.status == 2);
    CHECK(contains(result.err, "--first"));
    CHECK_FALSE(std::filesystem::exists(folder / "orin.db"));
  }
  CHECK(run(folder, {"compile", "--arch", "sm_87", "--shape", "64", "--first", "0", "--db", "orin.db"}).status == 2);
}

TEST_CASE("compile ends cleanly on Ctrl-C and goes on when started again") {
  if (no_nvrtc()) return;
  const TempFolder folder;
  const std::vector<std::string> arguments{"compile", "--arch", "sm_87", "--family", "simt",     "--all",
                                           "--shape", "64",     "--db",  "orin.db",  "--verbose"};
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

TEST_CASE("a bundle holds the bests' kernels and the generic kernels of every type pair and transposes") {
  if (no_nvrtc()) return;
  const TempFolder folder;
  make_database(folder / "tuned.db");
  const Finished result = run(folder, {"export", "--format", "bundle", "-o", "h200.tsb", "--db", "tuned.db"});
  INFO(result.err);
  REQUIRE(result.status == 0);
  CHECK(contains(result.err, "2 bests of NVIDIA H200 and 52 generic kernels"));
  const db::Bundle bundle = db::load_bundle(folder / "h200.tsb");
  CHECK(bundle.arch == "sm_90a");
  CHECK(bundle.bests.size() == 2);
  CHECK(bundle.builds.size() >= 36);
  CHECK(run(folder, {"import", "h200.tsb", "--db", "other.db"}).status == 0);
}
