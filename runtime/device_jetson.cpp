#include "runtime/device_jetson.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace tilesmith::runtime {
namespace {

namespace fs = std::filesystem;

std::string trimmed(std::string text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos) return {};
  return text.substr(start, text.find_last_not_of(" \t\r\n") - start + 1);
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return trimmed(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::optional<double> number_of(const fs::path& path) {
  const std::string text = text_of(path);
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || text.empty()) return std::nullopt;
  return double(value);
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    entries.push_back(it->path());
  return entries;
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

double gpu_clock_mhz(const fs::path& root) {
  // 17000000.gpu on JetPack 6, 17000000.ga10b on 5.
  for (const fs::path& entry : entries_of(root / "sys/class/devfreq")) {
    const std::string name = entry.filename().string();
    if (!name.ends_with(".gpu") && !name.ends_with(".ga10b")) continue;
    if (const auto hz = number_of(entry / "cur_freq")) return *hz / 1e6;
  }
  return 0;
}

double gpu_temperature_c(const fs::path& root) {
  for (const fs::path& zone : entries_of(root / "sys/class/thermal")) {
    const std::string type = text_of(zone / "type");
    if (type != "gpu-thermal" && type != "GPU-therm") continue;
    if (const auto milli = number_of(zone / "temp")) return *milli / 1e3;
  }
  return 0;
}

/// The rail named VDD_GPU_SOC (Orin AGX) or VDD_CPU_GPU_CV (Orin NX and Nano): volts times amperes.
double gpu_power_w(const fs::path& root) {
  for (const fs::path& driver : entries_of(root / "sys/bus/i2c/drivers")) {
    if (!driver.filename().string().starts_with("ina3221")) continue;
    for (const fs::path& chip : entries_of(driver)) {
      for (const fs::path& hwmon : entries_of(chip / "hwmon")) {
        for (int channel = 1; channel <= 3; ++channel) {
          const std::string number = std::to_string(channel);
          if (text_of(hwmon / ("in" + number + "_label")).find("GPU") == std::string::npos) continue;
          const auto millivolt = number_of(hwmon / ("in" + number + "_input"));
          const auto milliampere = number_of(hwmon / ("curr" + number + "_input"));
          if (millivolt && milliampere) return *millivolt * *milliampere / 1e6;
        }
      }
    }
  }
  return 0;
}

}  // namespace

std::string power_mode_in(const std::string& nvpmodel_output) {
  constexpr std::string_view kKey = "NV Power Mode:";
  const std::size_t at = nvpmodel_output.find(kKey);
  if (at == std::string::npos) return {};
  const std::size_t start = at + kKey.size();
  return trimmed(nvpmodel_output.substr(start, nvpmodel_output.find('\n', start) - start));
}

std::string jetson_power_mode(const fs::path& root) {
  std::string mode = power_mode_from_files(root);
  if (mode.empty() && root == "/") mode = power_mode_in(output_of_nvpmodel());
  return mode;
}

Telemetry read_jetson(const fs::path& root) {
  Telemetry telemetry;
  telemetry.clock_mhz = gpu_clock_mhz(root);
  telemetry.temperature_c = gpu_temperature_c(root);
  telemetry.power_w = gpu_power_w(root);
  return telemetry;
}

}  // namespace tilesmith::runtime
