#include "tuner/cli/options/target.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/driver/device.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/output/terminal.hpp"

namespace tilesmith::tuner {
namespace {

std::string list_of(const std::vector<db::DeviceIdentity>& devices) {
  std::string result;
  for (const db::DeviceIdentity& device : devices) result += fmt::format("{}{}", result.empty() ? "" : "; ", db::text(device));
  return result;
}

UsageError no_device_in(const db::Store& store, std::string_view or_what) {
  return UsageError(fmt::format("{}: holds records of no device yet; expected some, by `tilesmith tune` or `tilesmith import`{}",
                                store.path().string(), or_what));
}

[[noreturn]] void no_such_device(const db::Store& store, const std::vector<db::DeviceIdentity>& all, const std::string& part) {
  if (all.empty()) throw no_device_in(store, "");
  throw UsageError(fmt::format("--device '{}': no such device in {}; expected part of one of: {}", part, store.path().string(),
                               list_of(all)));
}

TargetDevice stored(const db::DeviceIdentity& identity) {
  const auto limits = limits_of(identity);
  if (!limits)
    throw UsageError(fmt::format("{}: sm_{} is not supported; expected one of {}", identity.name, identity.sm, supported_archs()));
  TargetDevice target;
  target.identity = identity;
  target.limits = *limits;
  return target;
}

}  // namespace

DeviceLimits require_arch(std::string_view arch, std::string_view option) {
  const auto limits = limits_for_arch(arch);
  if (!limits) {
    throw UsageError(fmt::format("{} '{}': is not supported; expected one of {}", option, arch, supported_archs()));
  }
  return *limits;
}

CLI::Option* add_as_option(CLI::App& app, std::string& as) {
  return app
      .add_option("--as", as,
                  "Run the code of this architecture, no newer than the GPU: compiled for its virtual architecture, under its "
                  "limits. Proves code for a device that is not here; the times say nothing of it, and its records are kept "
                  "apart from the GPU's own")
      ->type_name("ARCH");
}

runtime::DeviceInfo require_device_as(runtime::DeviceInfo device, std::string_view as) {
  if (as.empty()) return device;
  if (const auto reason = runtime::as_refusal(device, as)) throw UsageError(fmt::format("--as '{}': {}", as, *reason));
  return runtime::device_as(std::move(device), as);
}

std::vector<runtime::DeviceInfo> require_devices(std::string_view advice) {
  const std::string missing = runtime::device_unavailable_because();
  if (!missing.empty()) throw UsageError(fmt::format("no GPU here: {}{}{}", missing, advice.empty() ? "" : "; ", advice));
  std::vector<runtime::DeviceInfo> devices = runtime::list_devices();
  if (devices.empty()) throw UsageError("no GPU here that the driver describes");  // why not has been logged
  return devices;
}

std::optional<runtime::DeviceInfo> first_supported() {
  for (const runtime::DeviceInfo& info : runtime::list_devices()) {
    if (!info.limits.arch.empty()) return info;
  }
  return std::nullopt;
}

runtime::DeviceInfo require_device(int ordinal, std::string_view advice) {
  const std::vector<runtime::DeviceInfo> devices = require_devices(advice);
  for (const runtime::DeviceInfo& info : devices) {
    if (info.ordinal != ordinal) continue;
    if (!info.limits.arch.empty()) return info;
    throw UsageError(fmt::format("--device {}: {} is sm_{}, which is not supported; expected one of {}{}{}", ordinal,
                                 info.identity.name, info.identity.sm, supported_archs(), advice.empty() ? "" : "; ", advice));
  }
  throw UsageError(fmt::format("--device {}: no such device; expected 0{} (see `tilesmith devices`)", ordinal,
                               devices.size() > 1 ? fmt::format(" to {}", devices.size() - 1) : ""));
}

TargetDevice require_stored_device(const db::Store& store, const std::string& part) {
  const std::vector<db::DeviceIdentity> all = store.devices();
  const std::vector<db::DeviceIdentity> matching = db::meant_by(all, part);
  if (matching.size() == 1) return stored(matching.front());
  if (matching.empty()) no_such_device(store, all, part);
  throw UsageError(fmt::format("--device{}: {} devices match in {}; expected part of exactly one of: {}",
                               part.empty() ? "" : fmt::format(" '{}'", part), matching.size(), store.path().string(),
                               list_of(matching)));
}

void require_support(const std::vector<const Family*>& families, const std::vector<KernelTarget>& targets) {
  const auto supported = [&](const KernelTarget& target) {
    return std::any_of(families.begin(), families.end(), [&](const Family* one) { return one->supports(target); });
  };
  if (std::any_of(targets.begin(), targets.end(), supported)) return;
  const KernelTarget& first = targets.front();
  const KernelTarget plain{{first.type, first.trans}, first.limits};
  const std::string options = supported(plain) ? options_text(first) : "";  // the reason, where the type pair alone is supported
  throw UsageError(fmt::format("--family: none of the families has a kernel for {}{} on {}{}", text(plain.signature()), options, first.limits.arch,
                               options.empty() ? "" : "; expected others, or problems without" + options));
}

void require_known_device(const db::Store& store, const std::string& part) {
  if (part.empty()) return;
  const std::vector<db::DeviceIdentity> all = store.devices();
  const std::vector<db::DeviceIdentity> matching = db::meant_by(all, part);
  if (matching.empty()) no_such_device(store, all, part);
  if (matching.size() == 1) return;
  Screen::instance().print_line(fmt::format("--device '{}': {} devices match, and all are taken; the whole text means one alone: {}", part,
                                            matching.size(), list_of(matching)));
}

TargetDevice device_to_answer_for(const db::Store& store, const std::string& part) {
  if (part.empty()) {
    if (const auto here = first_supported()) return present_device(*here);
  }
  if (store.devices().empty()) throw no_device_in(store, ", or --arch ARCH");
  TargetDevice device = require_stored_device(store, part);
  for (const runtime::DeviceInfo& info : runtime::list_devices()) {
    if (info.identity == device.identity) return present_device(info);
  }
  return device;
}

}  // namespace tilesmith::tuner
