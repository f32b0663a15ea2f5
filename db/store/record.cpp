#include "db/store/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tilesmith::db {
namespace {

constexpr std::pair<Status, std::string_view> kStatusNames[] = {{Status::ok, "ok"}, {Status::illegal, "illegal"},
    {Status::compile_failed, "compile_failed"}, {Status::spilled, "spilled"}, {Status::launch_failed, "launch_failed"},
    {Status::timed_out, "timed_out"}, {Status::device_fault, "device_fault"}, {Status::mismatch, "mismatch"}};

constexpr double kShortestUs = 1e-6;

bool finite_and_not_negative(double value) { return std::isfinite(value) && value >= 0; }

}  // namespace

bool is_control_character(char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }

std::string_view name(Status status) {
  for (const auto& [value, text] : kStatusNames) {
    if (value == status) return text;
  }
  return "unknown";
}

std::optional<Status> parse_status(std::string_view text) {
  for (const auto& [value, known] : kStatusNames) {
    if (known == text) return value;
  }
  return std::nullopt;
}

std::string status_names() {
  std::string all;
  for (const auto& [value, text] : kStatusNames) all += fmt::format("{}{}", all.empty() ? "" : ", ", text);
  return all;
}

std::optional<std::string> timing_error(const Timing& timing) {
  if (!std::isfinite(timing.median_us) || !(timing.median_us >= kShortestUs) || !(timing.median_us < 1e300)) {
    return fmt::format("median_us is {}: expected a finite time of a picosecond or more", timing.median_us);
  }
  if (!finite_and_not_negative(timing.spread))
    return fmt::format("spread is {}: expected a finite ratio, 0 or more", timing.spread);
  if (timing.samples < 0) return fmt::format("samples is {}: expected a count", timing.samples);
  const std::tuple<const char*, double, bool> figures[] = {
      {"clock_mhz", timing.clock_mhz, finite_and_not_negative(timing.clock_mhz)},
      {"temperature_c", timing.temperature_c, std::isfinite(timing.temperature_c)},
      {"power_w", timing.power_w, finite_and_not_negative(timing.power_w)}};
  for (const auto& [name, value, is_right] : figures) {
    if (!is_right) return fmt::format("{} is {}: expected a finite figure, 0 if unknown", name, value);
  }
  if (!std::isfinite(timing.drift) || !(timing.drift > 0))
    return fmt::format("drift is {}: expected a finite ratio above 0", timing.drift);
  return std::nullopt;
}

std::optional<std::string> control_character_error(NamedTexts fields) {
  for (const auto& [field, value] : fields) {
    if (std::ranges::any_of(value, &is_control_character))
      return fmt::format("{} holds a control character: expected one line of text", field);
  }
  return std::nullopt;
}

std::optional<std::string> config_error(const Config& config) {
  const auto parsed = Config::parse(config.text());
  if (parsed && *parsed == config) return std::nullopt;
  return fmt::format("config is '{}': expected 'family{{parameter=value,...}}'", config.text());
}

std::optional<std::string> time_error(const std::string& created_at) {
  if (created_at.empty() || normalized_utc(created_at)) return std::nullopt;
  return fmt::format("created_at is '{}': expected ISO 8601 UTC, '2026-01-31T23:59:59.123Z'", created_at);
}

std::optional<std::string> record_error(const Record& record) {
  if (const auto wrong = task_error(record.task)) return wrong;
  if (const auto wrong = config_error(record.config)) return wrong;
  if (record.device.name.empty()) return std::string("the device has no name: expected one");
  // Keys. What an entry says besides is mended where it is stored, so that no entry of elsewhere bars the others from
  // coming in.
  const auto wrong_key = control_character_error({{"the device's name", record.device.name},
      {"power_mode", record.device.power_mode}, {"compiler_options", record.environment.compiler_options},
      {"nvrtc_version", record.environment.nvrtc_version}, {"driver_version", record.environment.driver_version},
      {"measuring_policy", record.environment.measuring_policy}, {"plan_hash", record.plan_hash}});
  if (wrong_key) return wrong_key;
  const Outcome& outcome = record.outcome;
  if (outcome.by_machine) return std::string("by_machine is set: expected a candidate's own outcome");
  if ((outcome.status == Status::ok) != outcome.timing.has_value()) {
    return fmt::format("status is {} {} a timing: expected a timing exactly with ok", name(outcome.status),
        outcome.timing ? "with" : "without");
  }
  const auto wrong_time = outcome.timing ? timing_error(*outcome.timing) : std::nullopt;
  return wrong_time ? wrong_time : time_error(record.created_at);
}

bool is_trial(const Environment& environment) { return environment.measuring_policy.starts_with("trial-"); }

}  // namespace tilesmith::db
