#include "runtime/driver/device_jetson.hpp"

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

std::string trimmed(const std::string& text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos) return {};
  return text.substr(start, text.find_last_not_of(" \t\r\n") - start + 1);
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
