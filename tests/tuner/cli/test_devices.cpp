// What `tilesmith devices` shows of a Jetson (recorded trees), and the values of --compile-jobs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "db/store/store.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/fake_driver.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/target.hpp"

namespace tilesmith::tests {
namespace {

namespace fs = std::filesystem;

fs::path recorded(const std::string& tree) {
  return fs::path(TILESMITH_SOURCE_DIR) / "tests/runtime/jetson_trees" / tree;
}

}  // namespace

TEST_CASE("devices shows what the tuner reads of a Jetson") {
  const TempFolder folder;
  const Finished six = run(folder, {"devices"}, {{"TILESMITH_SYSFS_ROOT", recorded("jetpack6").string()}});
  CHECK(six.status == 0);
  for (const char* part :
      {"NVIDIA Jetson AGX Orin Developer Kit, power mode MAXN", "1300.5 MHz, from 306 to 1300.5 (17000000.gpu",
          "gpu-thermal 46.2 (throttles at 99)", "VDD_GPU_SOC 15.3", "throttled      no", "NVRTC"})
    CHECK(contains(six.out, part));
  CHECK_FALSE(contains(six.out, "not understood"));
  CHECK(contains(
      run(folder, {"devices"}, {{"TILESMITH_SYSFS_ROOT", recorded("jetpack5").string()}}).out, "17000000.ga10b"));
}

TEST_CASE("devices says why a Jetson is throttled, and which file it does not understand") {
  const TempFolder folder;
  const fs::path tree = folder.path() / "tree";
  fs::copy(recorded("jetpack6"), tree, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  write_file(tree / "sys/class/thermal/cooling_device3/cur_state", "2\n");
  write_file(tree / "sys/class/devfreq/17000000.gpu/min_freq", "-1\n");
  const std::map<std::string, std::string> environment{{"TILESMITH_SYSFS_ROOT", tree.string()}};
  const Finished shown = run(folder, {"devices"}, environment);
  CHECK(contains(shown.out, "throttled      yes: heat caps the GPU's clock (devfreq-17000000.gpu at 2)"));
  CHECK(contains(shown.out, "devfreq-17000000.gpu 2 of 10"));
  CHECK(contains(shown.out, "17000000.gpu/min_freq: '-1', expected a whole number"));

  const auto json = nlohmann::json::parse(run(folder, {"devices", "--format", "json"}, environment).out);
  const auto& jetson = json.at("jetson");
  CHECK(jetson.at("gpu_clock").at("mhz") == 1300.5);
  CHECK(jetson.at("gpu_clock").at("min_mhz").is_null());
  CHECK(jetson.at("hottest_c") == 48.5);
  CHECK(jetson.at("throttled_because").is_string());
  CHECK(jetson.at("not_understood").size() == 1);
  CHECK(json.at("nvrtc").contains("version"));
}

TEST_CASE("a GPU of an architecture without kernels is marked, and refused by name") {
  runtime::fake::state() = runtime::fake::State();
  runtime::fake::state().attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 7;
  runtime::fake::state().attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = 5;
  const runtime::Driver table = runtime::fake::table();
  const runtime::ScopedDriver driver(table);
  const TempFolder folder;
  CLI::App program;
  const tuner::Command devices = tuner::add_devices(program);
  const auto shown =
      [&](std::vector<std::string> words) {  // standard output is the program's, and so has to go to a file
        words.insert(words.begin(), {"devices", "--db", folder / "a.db"});
        program.parse(std::vector<std::string>(words.rbegin(), words.rend()));
        std::fflush(stdout);
        const int former = ::dup(STDOUT_FILENO);
        const int file = ::open((folder / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ::dup2(file, STDOUT_FILENO);
        devices.run();
        std::fflush(stdout);
        ::dup2(former, STDOUT_FILENO);
        ::close(former);
        ::close(file);
        return read_file(folder / "out");
      };
  { const db::Store made = db::Store::open(folder / "a.db"); }
  CHECK(contains(shown({}), "sm_75, not supported"));
  const auto json = nlohmann::json::parse(shown({"--format", "json"}));
  CHECK(json.at("present").at(0).at("supported") == false);
  CHECK_THROWS_WITH(
      tuner::require_device(0, "advice"), Catch::Contains("sm_75, which is not supported; expected one of sm_80"));
  CHECK_FALSE(tuner::first_supported());
}

TEST_CASE("where there is no Jetson, devices tells of none") {
  const TempFolder folder;
  const std::map<std::string, std::string> environment{{"TILESMITH_SYSFS_ROOT", folder.path().string()}};
  CHECK_FALSE(contains(run(folder, {"devices"}, environment).out, "Jetson"));
  CHECK(nlohmann::json::parse(run(folder, {"devices", "--format", "json"}, environment).out).at("jetson").is_null());
}

TEST_CASE("compile jobs are a number or auto, and the rest is refused in one line") {
  const TempFolder folder;
  for (const char* command : {"tune", "compile", "verify"}) {
    for (const char* wrong : {"some", "-1", "2000", "1.5"}) {
      const Finished refused = run(folder, {command, "--compile-jobs", wrong});
      CHECK(refused.status == 2);
      CHECK(lines_of(refused.err) == 1);
      CHECK(contains(refused.err, "expected auto or a whole number up to 1024"));
    }
    CHECK(contains(run(folder, {command, "--help"}).out, "auto"));
  }
  for (const char* right : {"auto", "0", "3"})
    CHECK(run(folder,
              {"tune", "--dry-run", "--arch", "sm_87", "--family", "simt", "--shape", "64", "--compile-jobs", right})
              .status == 0);
}

}  // namespace tilesmith::tests
