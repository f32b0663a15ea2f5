#include "tuner/figures.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tilesmith::tuner {

std::string format_us(double microseconds) {
  if (!(microseconds > 0)) return "-";
  return fmt::format("{:.{}f}", microseconds, microseconds < 100 ? 2 : 1);
}

double tflops(const Problem& problem, double microseconds) {
  return microseconds > 0 ? problem.flop() / microseconds * 1e-6 : 0;
}

std::string format_tflops(double rate) {
  if (!(rate > 0)) return "-";
  return fmt::format("{:.{}f}", rate, rate < 1 ? 3 : rate < 10 ? 2 : 1);
}

std::string format_percent(double fraction) { return fraction > 0 ? fmt::format("{:.1f}%", 100 * fraction) : "-"; }

std::string format_seconds(double seconds) {
  const auto whole = (long long)(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

std::string format_bytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return fmt::format(
      "{:.{}f} {}", bytes, unit == 0 || bytes >= 100 || bytes == std::floor(bytes) ? 0 : 1, kUnits[unit]);
}

std::string format_count(long long count) {
  std::string digits = std::to_string(count);
  for (int at = int(digits.size()) - 3; at > (count < 0 ? 1 : 0); at -= 3) digits.insert(std::size_t(at), 1, ',');
  return digits;
}

std::string count_of(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

const char* rate_unit(const TypePair& type) { return is_integer(type.a) ? "TOPS" : "TFLOP/s"; }

std::string short_name(const db::DeviceIdentity& device) {
  if (device.power_mode.empty()) return device.name;
  return fmt::format("{} ({}, {} SMs)", device.name, device.power_mode, device.sm_count);
}

}  // namespace tilesmith::tuner
