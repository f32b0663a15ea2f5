#include "db/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "kernels/plan_hash.hpp"

namespace tilesmith::db {
namespace {

constexpr std::pair<Status, std::string_view> kStatusNames[] = {
    {Status::ok, "ok"},
    {Status::illegal, "illegal"},
    {Status::compile_failed, "compile_failed"},
    {Status::spilled, "spilled"},
    {Status::launch_failed, "launch_failed"},
    {Status::timed_out, "timed_out"},
    {Status::device_fault, "device_fault"},
    {Status::mismatch, "mismatch"},
};

constexpr std::string_view kAs = " as ";  // between a device's name and the architecture whose code it ran
constexpr double kShortestUs = 1e-6;
constexpr std::string_view kSaysAs = "as sm_";

bool finite_and_not_negative(double value) { return std::isfinite(value) && value >= 0; }

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

/// Versions of one kind compare. "CUDA 13.0" and "580.159" may be the same driver's, and where none is known none has changed.
bool driver_changed(const std::string& a, const std::string& b) {
  const auto is_of_cuda = [](const std::string& version) { return version.starts_with("CUDA "); };
  return a != b && !a.empty() && !b.empty() && is_of_cuda(a) == is_of_cuda(b);
}

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

std::string text(const DeviceIdentity& device) {
  std::string result = fmt::format("{}/sm_{}/{}SM/L2={}/smem={}/{}GBps", device.name, device.sm, device.sm_count,
                                   device.l2_bytes, device.smem_per_sm_bytes, device.bandwidth_class_gbps);
  if (!device.power_mode.empty()) result += "/" + device.power_mode;
  return result;
}

DeviceIdentity identity_as(DeviceIdentity device, const DeviceLimits& limits) {
  device.name.append(kAs).append(limits.arch);
  device.sm = limits.sm;
  device.smem_per_sm_bytes = limits.smem_per_sm_bytes;
  return device;
}

std::string ran_as(const DeviceIdentity& device) {
  const std::size_t at = device.name.rfind(kAs);
  if (at == std::string::npos) return {};
  std::string arch = device.name.substr(at + kAs.size());
  return limits_for_arch(arch) ? arch : std::string();
}

double sm_doublings(const DeviceIdentity& a, const DeviceIdentity& b) {
  return std::abs(std::log2(std::max(1, a.sm_count) / double(std::max(1, b.sm_count))));
}

bool are_alike(const DeviceIdentity& a, const DeviceIdentity& b) {
  return a.sm == b.sm && ran_as(a) == ran_as(b) && sm_doublings(a, b) <= 1;
}

bool is_meant_by(const DeviceIdentity& device, std::string_view part) {
  const std::string wanted = lower(std::string(part));
  if (!ran_as(device).empty() && wanted.find(kSaysAs) == std::string::npos) return false;
  return lower(text(device)).find(wanted) != std::string::npos;
}

bool is_text_of(const DeviceIdentity& device, std::string_view whole) { return lower(text(device)) == lower(std::string(whole)); }

std::vector<DeviceIdentity> meant_by(const std::vector<DeviceIdentity>& devices, std::string_view part) {
  std::vector<DeviceIdentity> found;
  for (const DeviceIdentity& device : devices) {
    if (is_text_of(device, part)) return {device};
    if (is_meant_by(device, part)) found.push_back(device);
  }
  return found;
}

std::optional<std::string> timing_error(const Timing& timing) {
  if (!std::isfinite(timing.median_us) || !(timing.median_us >= kShortestUs) || !(timing.median_us < 1e300)) {
    return fmt::format("median_us is {}: expected a finite time of a picosecond or more", timing.median_us);
  }
  if (!finite_and_not_negative(timing.spread)) {
    return fmt::format("spread is {}: expected a finite ratio, 0 or more", timing.spread);
  }
  if (timing.samples < 0) return fmt::format("samples is {}: expected a count", timing.samples);
  if (!finite_and_not_negative(timing.clock_mhz)) {
    return fmt::format("clock_mhz is {}: expected a finite figure, 0 if unknown", timing.clock_mhz);
  }
  if (!std::isfinite(timing.temperature_c)) {
    return fmt::format("temperature_c is {}: expected a finite figure, 0 if unknown", timing.temperature_c);
  }
  if (!finite_and_not_negative(timing.power_w)) {
    return fmt::format("power_w is {}: expected a finite figure, 0 if unknown", timing.power_w);
  }
  if (!std::isfinite(timing.drift) || !(timing.drift > 0)) {
    return fmt::format("drift is {}: expected a finite ratio above 0", timing.drift);
  }
  return std::nullopt;
}

std::optional<std::string> evidence_error(const Evidence& evidence) {
  if (const auto wrong = problem_error(evidence.problem)) return wrong;
  const auto parsed = Config::parse(evidence.config.text());
  if (!parsed || !(*parsed == evidence.config)) {
    return fmt::format("config is '{}': expected 'family{{parameter=value,...}}'", evidence.config.text());
  }
  if (evidence.device.name.empty()) return std::string("the device has no name: expected one");
  // Keys. What an entry says besides is mended where it is stored, so that no entry of elsewhere bars the others from coming in.
  for (const auto& [field, value] : std::initializer_list<std::pair<const char*, const std::string&>>{
           {"the device's name", evidence.device.name},
           {"power_mode", evidence.device.power_mode},
           {"compiler_options", evidence.producer.compiler_options},
           {"nvrtc_version", evidence.producer.nvrtc_version},
           {"driver_version", evidence.producer.driver_version},
           {"measuring_policy", evidence.producer.measuring_policy},
           {"plan_hash", evidence.plan_hash}}) {
    if (std::any_of(value.begin(), value.end(), &is_control_character)) {
      return fmt::format("{} holds a control character: expected one line of text", field);
    }
  }
  const Outcome& outcome = evidence.outcome;
  if (outcome.by_machine) return std::string("by_machine is set: expected a candidate's own outcome");
  if ((outcome.status == Status::ok) != outcome.timing.has_value()) {
    return fmt::format("status is {} {} a timing: expected a timing exactly with ok", name(outcome.status),
                       outcome.timing ? "with" : "without");
  }
  if (outcome.timing) {
    if (const auto wrong = timing_error(*outcome.timing)) return wrong;
  }
  if (!evidence.created_at.empty() && !normalized_utc(evidence.created_at)) {
    return fmt::format("created_at is '{}': expected ISO 8601 UTC, '2026-01-31T23:59:59.123Z'", evidence.created_at);
  }
  return std::nullopt;
}

bool is_trial(const Producer& producer) { return producer.measuring_policy.starts_with("trial-"); }

Trust judge(const Producer& entry, const Producer& now) {
  if (entry.compiler_options != now.compiler_options) return Trust::retired;
  if (entry.measuring_policy != now.measuring_policy || is_trial(entry)) return Trust::remeasure;
  if (entry.nvrtc_version != now.nvrtc_version || driver_changed(entry.driver_version, now.driver_version)) return Trust::reverify;
  return Trust::valid;
}

Trust judge(const Evidence& entry, const Producer& now) {
  const Trust by_producer = judge(entry.producer, now);
  if (by_producer == Trust::retired) return by_producer;
  return entry.plan_hash == plan_hash(entry.config, entry.problem, now.compiler_options) ? by_producer : Trust::retired;
}

bool is_later(const Evidence& a, const Evidence& b) {
  return a.id != b.id ? a.id > b.id : a.created_at > b.created_at;
}

bool supersedes(const Evidence& a, const Evidence& b) {
  const bool a_is_trial = is_trial(a.producer);
  return a_is_trial != is_trial(b.producer) ? !a_is_trial : is_later(a, b);
}

void keep_comparable(std::vector<Judged>& entries) {
  if (entries.empty()) return;
  const bool any_of_today =
      std::any_of(entries.begin(), entries.end(), [](const Judged& one) { return one.trust != Trust::remeasure; });
  const auto latest = std::max_element(entries.begin(), entries.end(), [](const Judged& a, const Judged& b) {
    return supersedes(*b.entry, *a.entry);
  });
  const std::string policy = latest->entry->producer.measuring_policy;
  std::erase_if(entries, [&](const Judged& one) {
    return one.trust == Trust::remeasure && (any_of_today || one.entry->producer.measuring_policy != policy);
  });
}

std::string_view name(Trust trust) {
  switch (trust) {
    case Trust::valid: return "valid";
    case Trust::reverify: return "reverify";
    case Trust::remeasure: return "remeasure";
    case Trust::retired: return "retired";
  }
  return "unknown";
}

}  // namespace tilesmith::db
