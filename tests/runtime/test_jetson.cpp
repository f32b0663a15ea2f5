// A Jetson's state as read from recorded trees (jetson_trees/README.md), whole and damaged.
#include <cuda.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/driver/jetson_state.hpp"
#include "runtime/driver/sysfs.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/fake_driver.hpp"

namespace tilesmith::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGpu6 = "sys/class/devfreq/17000000.gpu/";
constexpr const char* kGpuZone = "sys/class/thermal/thermal_zone1/";
constexpr const char* kChip = "sys/bus/i2c/drivers/ina3221/1-0040/hwmon/hwmon3/";
constexpr const char* kOverCurrent = "sys/class/hwmon/hwmon0/";

/// A copy of a recorded tree, to be changed at will.
class JetsonTree {
 public:
  explicit JetsonTree(const std::string& recorded)
      : root_(fs::temp_directory_path() / ("tilesmith_" + recorded + "_" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    fs::copy(fs::path(TILESMITH_SOURCE_DIR) / "tests/runtime/jetson_trees" / recorded, root_,
        fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }
  ~JetsonTree() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  void put(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  void remove(const std::string& path) const { fs::remove_all(root_ / path); }
  JetsonState state() const { return read_jetson_state(root_); }
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

/// The folder of the cooling device of that type.
std::string cooling_folder(const JetsonTree& tree, const std::string& type) {
  for (const fs::path& entry : entries_of(tree.root() / "sys/class/thermal")) {
    if (entry.filename().string().starts_with("cooling_device") && text_of(entry / "type") == type)
      return "sys/class/thermal/" + entry.filename().string() + "/";
  }
  FAIL("no cooling device " << type);
  return {};
}

}  // namespace

TEST_CASE("JetPack 7, 6 and 5 tell the same of an Orin, the last under other names") {
  struct JetPack {
    const char *tree, *gpu, *zone, *mode;
    double temperature_c;
  };
  for (const JetPack& release : {JetPack{"jetpack7", "17000000.gpu", "gpu-thermal", "MAXN", 44.5},
           JetPack{"jetpack6", "17000000.gpu", "gpu-thermal", "MAXN", 46.25},
           JetPack{"jetpack5", "17000000.ga10b", "GPU-therm", "MODE_30W", 47.5}}) {
    INFO(release.tree);
    const JetsonTree tree(release.tree);
    const JetsonState state = tree.state();
    CHECK(state.model == "NVIDIA Jetson AGX Orin Developer Kit");
    CHECK(state.gpu.device == release.gpu);
    CHECK(state.gpu.governor == "nvhost_podgov");
    CHECK(*state.gpu.min_mhz == Approx(306));
    CHECK(*state.gpu.max_mhz == Approx(1300.5));
    CHECK_FALSE(state.gpu.locked());
    CHECK(state.zones.size() == 9);
    REQUIRE(state.gpu_zone() != nullptr);
    CHECK(state.gpu_zone()->type == release.zone);
    CHECK(*state.gpu_zone()->throttles_at_c == Approx(99));
    CHECK_FALSE(state.zones[3].temperature_c);  // powered down
    REQUIRE(state.rails.size() == 4);           // not those of channels that lead nowhere
    CHECK(state.rails[0].label == "VDD_GPU_SOC");
    CHECK(state.rails[3].label == "VDDQ_VDD2_1V8AO");
    CHECK(state.over_current_events == 0);
    CHECK(state.complaints.empty());
    CHECK(jetson_power_mode(tree.root()) == release.mode);

    const Telemetry telemetry = telemetry_of(state);
    CHECK(telemetry.clock_mhz == Approx(1300.5));
    CHECK(telemetry.temperature_c == Approx(release.temperature_c));
    CHECK(telemetry.power_w == Approx(19.168 * 0.8));
    CHECK_FALSE(telemetry.throttled);
    CHECK(telemetry.throttle_reason.empty());
  }
}

TEST_CASE("a cooling device that caps the GPU's clock means throttling, one that cools otherwise does not") {
  for (const auto& [recorded, type] :
      {std::pair{"jetpack7", "devfreq-17000000.gpu"}, {"jetpack6", "devfreq-17000000.gpu"},
          {"jetpack5", "thermal-devfreq-0"}, {"jetpack6", "gpu-throttle-alert"}}) {
    const JetsonTree tree(recorded);
    tree.put(cooling_folder(tree, type) + "cur_state", "1");
    const ThrottleVerdict verdict = judge_throttling(tree.state());
    CHECK(verdict.throttled);
    CHECK(verdict.reason.find(type) != std::string::npos);
    CHECK(telemetry_of(tree.state()).throttled);
  }
  const JetsonTree tree("jetpack6");
  for (const char* type : {"pwm-fan", "cpufreq-cpu0", "cpu-throttle-alert", "hot-surface-alert"})
    tree.put(cooling_folder(tree, type) + "cur_state", "1");
  CHECK_FALSE(judge_throttling(tree.state()).throttled);
}

TEST_CASE("a zone throttles at the trip that caps the GPU's clock, not at an alert's lower one") {
  const JetsonTree tree("jetpack6");
  tree.put("sys/class/thermal/thermal_zone8/temp", "75000");  // tj: above the trip of the hot surface
  CHECK(*tree.state().zones[8].throttles_at_c == Approx(99));
  CHECK_FALSE(judge_throttling(tree.state()).throttled);
  tree.put("sys/class/thermal/thermal_zone8/temp", "99000");
  CHECK(judge_throttling(tree.state()).reason == "tj-thermal is at 99.0 C, its trip at 99.0 C");

  tree.put("sys/class/thermal/thermal_zone8/temp", "50000");
  tree.put(std::string(kGpuZone) + "trip_point_2_type", "passive");  // higher, but it caps nothing of the GPU's
  tree.put(std::string(kGpuZone) + "trip_point_2_temp", "103000");
  tree.put(std::string(kGpuZone) + "temp", "99500");
  CHECK(*tree.state().gpu_zone()->throttles_at_c == Approx(99));
  CHECK(judge_throttling(tree.state()).throttled);
}

TEST_CASE("a low clock alone is no throttling") {
  const JetsonTree tree("jetpack6");
  tree.put(std::string(kGpu6) + "cur_freq", "306000000");
  CHECK_FALSE(judge_throttling(tree.state()).throttled);
  tree.put(std::string(kGpu6) + "min_freq", "1300500000");
  CHECK(tree.state().gpu.locked());
}

TEST_CASE("values that cannot be true are left out, and the file is named") {
  for (const char* nonsense : {"-5", "garbage", "1300500000x", "99999999999999999999", "1.3e9", "0x10"}) {
    INFO(nonsense);
    const JetsonTree tree("jetpack6");
    tree.put(std::string(kGpu6) + "cur_freq", nonsense);
    tree.put(std::string(kChip) + "curr1_input", nonsense);
    const JetsonState state = tree.state();
    CHECK_FALSE(state.gpu.current_mhz);
    CHECK(state.rails.size() == 3);
    CHECK(telemetry_of(state).clock_mhz == 0);
    CHECK(telemetry_of(state).power_w == 0);
    REQUIRE(state.complaints.size() == 2);
    CHECK(state.complaints[0].find("cur_freq: '" + std::string(nonsense) + "', expected a whole number from 1") !=
          std::string::npos);
  }
  const JetsonTree tree("jetpack6");
  tree.put(std::string(kGpuZone) + "temp", "900000");
  tree.put(cooling_folder(tree, "devfreq-17000000.gpu") + "cur_state", "-1");
  tree.put(std::string(kOverCurrent) + "oc3_event_cnt", "\x01\x02");
  const JetsonState state = tree.state();
  CHECK_FALSE(state.gpu_zone()->temperature_c);
  CHECK_FALSE(judge_throttling(state).throttled);
  REQUIRE(state.complaints.size() == 3);
  CHECK(state.complaints[2].find("'?") != std::string::npos);
}

TEST_CASE("an absent or powered-down sensor is empty and no complaint") {
  const JetsonTree tree("jetpack6");
  tree.put(std::string(kGpuZone) + "temp", "-256000");
  tree.remove("sys/bus");
  tree.remove("sys/class/devfreq");
  tree.remove(std::string(kOverCurrent) + "oc1_event_cnt");
  JetsonState state = tree.state();
  CHECK(telemetry_of(state).temperature_c == 0);
  CHECK(state.rails.empty());
  CHECK(state.gpu.device.empty());
  CHECK(state.over_current_events == 0);
  CHECK(state.complaints.empty());
  CHECK_FALSE(state.empty());
  tree.remove("sys");
  tree.remove("proc");
  state = tree.state();
  CHECK(state.empty());
  CHECK_FALSE(telemetry_of(state).throttled);
}

TEST_CASE("over-current throttling shows between two readings") {
  const JetsonTree tree("jetpack6");
  tree.put(std::string(kOverCurrent) + "oc3_event_cnt", "813");
  OverCurrentWatch watch;
  CHECK(watch.since_last(tree.state()).empty());  // before us
  CHECK(watch.since_last(tree.state()).empty());
  tree.put(std::string(kOverCurrent) + "oc3_event_cnt", "814");
  CHECK(watch.since_last(tree.state()) == "over-current slowed the chip");
  CHECK(watch.since_last(tree.state()).empty());
  tree.remove("sys/class/hwmon");
  CHECK(watch.since_last(tree.state()).empty());
}

TEST_CASE("TILESMITH_SYSFS_ROOT names the root that a Jetson is read from") {
  ::unsetenv("TILESMITH_SYSFS_ROOT");
  CHECK(jetson_root() == "/");
  ::setenv("TILESMITH_SYSFS_ROOT", "", 1);
  CHECK(jetson_root() == "/");
  const JetsonTree tree("jetpack5");
  ::setenv("TILESMITH_SYSFS_ROOT", tree.root().c_str(), 1);
  CHECK(jetson_root() == tree.root());
  CHECK(jetson_power_mode() == "MODE_30W");
  ::unsetenv("TILESMITH_SYSFS_ROOT");
}

TEST_CASE("an integrated GPU's telemetry and power mode are the Jetson's, over-current included") {
  const fake::FakeDriver driver;
  auto& attributes = fake::state().attributes;
  attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 8;
  attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = 7;
  attributes[CU_DEVICE_ATTRIBUTE_INTEGRATED] = 1;
  const JetsonTree tree("jetpack6");
  ::setenv("TILESMITH_SYSFS_ROOT", tree.root().c_str(), 1);
  CHECK(device_info(0).identity.power_mode == "MAXN");
  const Telemetry calm = read_telemetry(0);
  CHECK(calm.clock_mhz == Approx(1300.5));
  CHECK_FALSE(calm.throttled);
  tree.put(std::string(kOverCurrent) + "oc1_event_cnt", "1");
  CHECK(read_telemetry(0).throttle_reason == "over-current slowed the chip");
  CHECK_FALSE(read_telemetry(0).throttled);
  ::unsetenv("TILESMITH_SYSFS_ROOT");
}

TEST_CASE("entries come in the order of their numbers") {
  const JetsonTree tree("jetpack6");
  const std::vector<fs::path> entries = entries_of(tree.root() / "sys/class/thermal");
  REQUIRE(entries.size() == 23);
  CHECK(entries[9].filename() == "cooling_device9");
  CHECK(entries[10].filename() == "cooling_device10");
  CHECK(entries_of(tree.root() / "not there").empty());
}

}  // namespace tilesmith::runtime
