#include "runtime/driver/jetson_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string_view>
#include <utility>

#include "runtime/driver/sysfs.hpp"

namespace tilesmith::runtime {
namespace {

namespace fs = std::filesystem;

// What can be true of such a machine; anything else is no reading.
constexpr long long kMostHz = 10'000'000'000;
constexpr long long kLeastMilliC = -40'000, kMostMilliC = 200'000;
constexpr long long kPoweredDownMilliC = -256'000;  // what Tegra's sensors say of a part that is powered down
constexpr long long kMostMillivolt = 100'000, kMostMilliampere = 100'000;
constexpr long long kMostStates = 10'000;
constexpr long long kMostEvents = 1'000'000'000'000;
constexpr int kMostTrips = 32;
constexpr int kChannels = 3;  // of an INA3221

bool is_gpu_name(std::string_view name) { return name.ends_with(".gpu") || name.ends_with(".ga10b"); }

GpuClock read_gpu_clock(const fs::path& root, NumberReader& numbers) {
  GpuClock clock;
  for (const fs::path& entry : entries_of(root / "sys/class/devfreq")) {
    if (!is_gpu_name(entry.filename().string())) continue;
    const auto mhz = [&](const char* file) -> std::optional<double> {
      const auto hz = numbers.read(entry / file, 1, kMostHz);
      if (!hz) return std::nullopt;
      return double(*hz) / 1e6;
    };
    clock.device = entry.filename().string();
    clock.governor = text_of(entry / "governor");
    clock.current_mhz = mhz("cur_freq");
    clock.min_mhz = mhz("min_freq");
    clock.max_mhz = mhz("max_freq");
    if (clock.current_mhz) break;
  }
  return clock;
}

std::optional<double> celsius(const fs::path& path, NumberReader& numbers) {
  const auto milli = numbers.read(path, kPoweredDownMilliC, kMostMilliC);
  if (!milli || *milli < kLeastMilliC) return std::nullopt;
  return double(*milli) / 1e3;
}

/// Whether a cooling device that caps the GPU's clock is bound to this trip: cdevN leads to the device,
/// cdevN_trip_point is the trip's number.
bool caps_gpu_at(const fs::path& zone, int trip, NumberReader& numbers) {
  for (int i = 0; i < kMostTrips; ++i) {
    const fs::path device = zone / fmt::format("cdev{}", i);
    const std::string type = text_of(device / "type");
    if (type.empty()) return false;
    if (!CoolingDevice{type, 0, {}}.caps_gpu_clock()) continue;
    if (numbers.read(zone / fmt::format("cdev{}_trip_point", i), -1, kMostTrips) == trip) return true;
  }
  return false;
}

ThermalZone read_zone(const fs::path& folder, NumberReader& numbers) {
  ThermalZone zone{text_of(folder / "type"), celsius(folder / "temp", numbers), {}};
  if (!zone.heats_gpu()) return zone;
  for (int trip = 0; trip < kMostTrips; ++trip) {
    const std::string type = text_of(folder / fmt::format("trip_point_{}_type", trip));
    if (type.empty()) break;
    if (type != "passive") continue;
    const auto at_c = celsius(folder / fmt::format("trip_point_{}_temp", trip), numbers);
    if (!at_c) continue;
    if (caps_gpu_at(folder, trip, numbers)) {
      zone.throttles_at_c = at_c;
      break;
    }
    zone.throttles_at_c = std::max(zone.throttles_at_c.value_or(*at_c), *at_c);
  }
  return zone;
}

void read_thermal(const fs::path& root, JetsonState& state, NumberReader& numbers) {
  for (const fs::path& entry : entries_of(root / "sys/class/thermal")) {
    const std::string name = entry.filename().string();
    if (name.starts_with("thermal_zone")) state.zones.push_back(read_zone(entry, numbers));
    if (!name.starts_with("cooling_device")) continue;
    const auto now = numbers.read(entry / "cur_state", 0, kMostStates);
    if (now)
      state.cooling.push_back({text_of(entry / "type"), *now, numbers.read(entry / "max_state", 0, kMostStates)});
  }
}

/// Channels without a label, or labelled "NC", lead nowhere; in7 is a sum of shunt voltages.
std::vector<PowerRail> read_rails(const fs::path& root, NumberReader& numbers) {
  std::vector<PowerRail> rails;
  for (const fs::path& driver : entries_of(root / "sys/bus/i2c/drivers")) {
    if (!driver.filename().string().starts_with("ina3221")) continue;
    for (const fs::path& chip : entries_of(driver)) {
      for (const fs::path& hwmon : entries_of(chip / "hwmon")) {
        for (int channel = 1; channel <= kChannels; ++channel) {
          const std::string label = text_of(hwmon / fmt::format("in{}_label", channel));
          if (label.empty() || label == "NC") continue;
          const auto millivolt = numbers.read(hwmon / fmt::format("in{}_input", channel), 0, kMostMillivolt);
          const auto milliampere = numbers.read(hwmon / fmt::format("curr{}_input", channel), 0, kMostMilliampere);
          if (millivolt && milliampere) rails.push_back({label, double(*millivolt) * double(*milliampere) / 1e6});
        }
      }
    }
  }
  return rails;
}

std::optional<long long> read_over_current(const fs::path& root, NumberReader& numbers) {
  std::optional<long long> events;
  for (const fs::path& hwmon : entries_of(root / "sys/class/hwmon")) {
    if (text_of(hwmon / "name") != "soctherm_oc") continue;
    for (int alarm = 1; alarm <= 3; ++alarm) {
      const auto count = numbers.read(hwmon / fmt::format("oc{}_event_cnt", alarm), 0, kMostEvents);
      if (count) events = events.value_or(0) + *count;
    }
  }
  return events;
}

/// The value of KEY in a line of nvpmodel.conf: "< POWER_MODEL ID=2 NAME=MODE_30W >".
std::string field(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  const std::size_t start = at + key.size();
  return std::string(line.substr(start, line.find_first_of(" \t>", start) - start));
}

/// From /var/lib/nvpmodel/status ("pmode:0002 fmode:quiet") and the names in /etc/nvpmodel.conf.
std::string power_mode_from_files(const fs::path& root) {
  const std::string status = text_of(root / "var/lib/nvpmodel/status");
  constexpr std::string_view kKey = "pmode:";
  const std::size_t at = status.find(kKey);
  if (at == std::string::npos) return {};
  int mode = -1;
  std::from_chars(status.data() + at + kKey.size(), status.data() + status.size(), mode);
  if (mode < 0) return {};
  std::ifstream conf(root / "etc/nvpmodel.conf");
  for (std::string line; std::getline(conf, line);) {
    if (trimmed(line).starts_with('<') && line.find("POWER_MODEL") != std::string::npos &&
        field(line, " ID=") == std::to_string(mode)) {
      return field(line, " NAME=");
    }
  }
  return {};
}

std::string output_of_nvpmodel() {
  const auto close = [](std::FILE* file) { ::pclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> pipe(::popen("nvpmodel -q 2>/dev/null", "r"), close);
  if (pipe == nullptr) return {};
  std::string output;
  std::array<char, 256> buffer{};
  while (std::fgets(buffer.data(), int(buffer.size()), pipe.get()) != nullptr) output += buffer.data();
  return output;
}

}  // namespace

bool ThermalZone::of_gpu() const { return type == "gpu-thermal" || type == "GPU-therm"; }
bool ThermalZone::heats_gpu() const { return of_gpu() || type == "tj-thermal" || type == "tj-therm"; }

bool CoolingDevice::caps_gpu_clock() const {
  // Linux 5.10 (JetPack 5) numbers such devices, and the GPU's is the only one there; later ones name the device.
  if (type.starts_with("thermal-devfreq-")) return true;
  return type.starts_with("devfreq-") && is_gpu_name(type);
}

const ThermalZone* JetsonState::gpu_zone() const {
  const auto found = std::find_if(zones.begin(), zones.end(), [](const ThermalZone& zone) { return zone.of_gpu(); });
  return found == zones.end() ? nullptr : &*found;
}

const PowerRail* JetsonState::gpu_rail() const {
  const auto found = std::find_if(
      rails.begin(), rails.end(), [](const PowerRail& rail) { return rail.label.find("GPU") != std::string::npos; });
  return found == rails.end() ? nullptr : &*found;
}

JetsonState read_jetson_state(const fs::path& root) {
  NumberReader numbers;
  JetsonState state;
  const std::string model = text_of(root / "proc/device-tree/model");
  if (model.find("Jetson") != std::string::npos) state.model = model;
  state.gpu = read_gpu_clock(root, numbers);
  read_thermal(root, state, numbers);
  state.rails = read_rails(root, numbers);
  state.over_current_events = read_over_current(root, numbers);
  state.complaints = numbers.complaints();
  return state;
}

ThrottleVerdict judge_throttling(const JetsonState& state) {
  ThrottleVerdict verdict;
  const auto throttled = [&](const std::string& reason) {
    verdict.throttled = true;
    verdict.reason += (verdict.reason.empty() ? "" : ", ") + reason;
  };
  for (const CoolingDevice& device : state.cooling) {
    if (device.state == 0) continue;
    if (device.caps_gpu_clock())
      throttled(fmt::format("heat caps the GPU's clock ({} at {})", device.type, device.state));
    if (device.type == "gpu-throttle-alert") throttled("gpu-throttle-alert is on");
  }
  for (const ThermalZone& zone : state.zones) {
    if (!zone.heats_gpu() || !zone.temperature_c || !zone.throttles_at_c) continue;
    if (*zone.temperature_c >= *zone.throttles_at_c)
      throttled(
          fmt::format("{} is at {:.1f} C, its trip at {:.1f} C", zone.type, *zone.temperature_c, *zone.throttles_at_c));
  }
  return verdict;
}

std::string power_mode_in(const std::string& nvpmodel_output) {
  constexpr std::string_view kKey = "NV Power Mode:";
  const std::size_t at = nvpmodel_output.find(kKey);
  if (at == std::string::npos) return {};
  const std::size_t start = at + kKey.size();
  return trimmed(nvpmodel_output.substr(start, nvpmodel_output.find('\n', start) - start));
}

fs::path jetson_root() {
  const char* given = std::getenv("TILESMITH_SYSFS_ROOT");
  return given != nullptr && *given != '\0' ? given : "/";
}

std::string jetson_power_mode(const fs::path& root) {
  std::string mode = power_mode_from_files(root);
  if (mode.empty() && root == "/") mode = power_mode_in(output_of_nvpmodel());
  return mode;
}

Telemetry telemetry_of(const JetsonState& state) {
  Telemetry telemetry;
  telemetry.clock_mhz = state.gpu.current_mhz.value_or(0);
  if (const ThermalZone* zone = state.gpu_zone()) telemetry.temperature_c = zone->temperature_c.value_or(0);
  if (const PowerRail* rail = state.gpu_rail()) telemetry.power_w = rail->watt;
  const ThrottleVerdict verdict = judge_throttling(state);
  telemetry.throttled = verdict.throttled;
  telemetry.throttle_reason = verdict.reason;
  return telemetry;
}

std::string OverCurrentWatch::since_last(const JetsonState& state) {
  if (!state.over_current_events) return {};
  const std::optional<long long> before = std::exchange(last_, state.over_current_events);
  if (!before || *state.over_current_events <= *before) return {};
  return "over-current slowed the chip";
}

}  // namespace tilesmith::runtime
