// tilesmith compile, and bundles: what needs NVRTC but no GPU.
#include <chrono>
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
  const std::vector<std::string> arguments{"compile", "--arch", "sm_87", "--shape", "64", "--family", "simt",
                                           "--max-configs", "2", "--db", "orin.db"};
  const Finished first = run(folder, arguments);
  INFO(first.err);
  REQUIRE(first.status == 0);
  CHECK(contains(first.out, "sm_87  simt"));
  CHECK(contains(first.out, "2 kernels compiled in"));
  const Finished again = run(folder, arguments);
  REQUIRE(again.status == 0);
  CHECK(contains(again.out, "0 kernels compiled in"));
}

TEST_CASE("compile ends cleanly on Ctrl-C and goes on when started again") {
  if (no_nvrtc()) return;
  const TempFolder folder;
  const std::vector<std::string> arguments{"compile", "--arch", "sm_87", "--family", "simt", "--all",
                                           "--shape", "64", "--db", "orin.db", "--verbose"};
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
