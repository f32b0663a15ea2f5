#include "tuner/cli/options/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <utility>

#include "runtime/driver/shared_library.hpp"
#include "tuner/bests/bests_today.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/exit_status.hpp"

namespace tilesmith::tuner {
namespace {

std::string list_of(const std::vector<db::DeviceIdentity>& devices) {
  std::vector<std::string> texts;
  for (const db::DeviceIdentity& device : devices) texts.push_back(db::text(device));
  return fmt::format("{}", fmt::join(texts, "; "));
}

/// Advice behind an error, if there is any.
std::string advice_text(std::string_view advice) { return advice.empty() ? "" : fmt::format("; {}", advice); }

UsageError no_device_in(const db::Store& store, std::string_view or_what) {
  return UsageError(
      fmt::format("{}: holds records of no device yet; expected some, by `tilesmith tune` or `tilesmith import`{}",
          store.path().string(), or_what));
}

[[noreturn]] void no_such_device(
    const db::Store& store, const std::vector<db::DeviceIdentity>& all, const std::string& part) {
  if (all.empty()) throw no_device_in(store, "");
  throw UsageError(fmt::format(
      "--device '{}': no such device in {}; expected part of one of: {}", part, store.path().string(), list_of(all)));
}

TargetDevice stored(const db::DeviceIdentity& identity) {
  if (const auto limits = limits_of(identity)) return {identity, *limits, 0, "", false};
  throw UsageError(
      fmt::format("{}: sm_{} is not supported; expected one of {}", identity.name, identity.sm, supported_archs()));
}

namespace fs = std::filesystem;

/// The folder `bests` or `recordings`: of a wheel beside bin/, of an installation or a build folder in share/tilesmith.
fs::path shipped_folder(const char* kind) {
  const fs::path above =
      runtime::file_of_address(reinterpret_cast<const void*>(&shipped_folder)).parent_path().parent_path();
  std::error_code error;
  return fs::is_directory(above / kind, error) ? above / kind : above / TILESMITH_SHARE_FOLDER / kind;
}

/// The bests that ship for the device; where none is named and the GPU here has none, the first of h200.db, h100.db.
std::optional<db::Store> bests_for(const std::string& device) {
  std::set<fs::path, std::greater<>> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(shipped_folder("bests"), error))
    if (entry.path().extension() == ".db") files.insert(entry.path());
  const auto here = device.empty() ? first_supported() : std::nullopt;
  for (const fs::path& file : files) {
    db::Store store = db::Store::open_read_only(file);
    if (!db::meant_by(store.devices(), here ? here->identity.name : device).empty()) return store;
  }
  return device.empty() && !files.empty() ? std::optional(db::Store::open_read_only(*files.begin())) : std::nullopt;
}

}  // namespace

DeviceLimits require_arch(std::string_view arch, std::string_view option) {
  if (const auto limits = limits_for_arch(arch)) return *limits;
  throw UsageError(fmt::format("{} '{}': is not supported; expected one of {}", option, arch, supported_archs()));
}

CLI::Option* add_as_option(CLI::App& app, std::string& as) {
  return AddOption{app}("--as", as, "ARCH",
      "Run the code of this architecture, no newer than the GPU: compiled for its virtual "
      "architecture, under its limits. Proves code for a device that is not here; the times say "
      "nothing of it, and its records are kept apart from the GPU's own");
}

runtime::DeviceInfo require_device_as(runtime::DeviceInfo device, std::string_view as) {
  if (as.empty()) return device;
  if (const auto reason = runtime::as_refusal(device, as)) throw UsageError(fmt::format("--as '{}': {}", as, *reason));
  return runtime::device_as(std::move(device), as);
}

std::vector<runtime::DeviceInfo> require_devices(std::string_view advice) {
  const std::string missing = runtime::device_unavailable_because();
  if (!missing.empty()) throw UsageError(fmt::format("no GPU here: {}{}", missing, advice_text(advice)));
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
    throw UsageError(fmt::format("--device {}: {} is sm_{}, which is not supported; expected one of {}{}", ordinal,
        info.identity.name, info.identity.sm, supported_archs(), advice_text(advice)));
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
      part.empty() ? "" : fmt::format(" '{}'", part), matching.size(), store.path().string(), list_of(matching)));
}

std::vector<KernelTarget> targets_of(const Workload& workload, const DeviceLimits& limits) {
  std::vector<KernelTarget> targets;
  std::set<std::string> seen;
  for (const WeightedTask& one : workload.tasks) {
    const KernelTarget target{one.task.problem(), limits};
    if (seen.insert(text(target.signature())).second) targets.push_back(target);
  }
  return targets;
}

void require_support(const std::vector<const Family*>& families, const std::vector<KernelTarget>& targets) {
  const auto supported = [&](const KernelTarget& target) {
    return std::any_of(families.begin(), families.end(), [&](const Family* one) { return one->supports(target); });
  };
  if (std::any_of(targets.begin(), targets.end(), supported)) return;
  const KernelTarget& first = targets.front();
  const KernelTarget plain{{first.type, first.trans}, first.limits};
  const std::string options =
      supported(plain) ? options_text(first) : "";  // the reason, where the type pair alone is supported
  throw UsageError(fmt::format("--family: none of the families has a kernel for {}{} on {}{}", text(plain.signature()),
      options, first.limits.arch, options.empty() ? "" : "; expected others, or problems without" + options));
}

void require_known_device(const db::Store& store, const std::string& part) {
  if (part.empty()) return;
  const std::vector<db::DeviceIdentity> all = store.devices();
  const std::vector<db::DeviceIdentity> matching = db::meant_by(all, part);
  if (matching.empty()) no_such_device(store, all, part);
  if (matching.size() == 1) return;
  Screen::instance().print_line(
      fmt::format("--device '{}': {} devices match, and all are taken; the whole text means one alone: {}", part,
          matching.size(), list_of(matching)));
}

std::vector<db::JudgedBest> bests_to_compare(const std::string& database, const std::string& device, Wanted wanted) {
  const db::Store store = db::Store::open_read_only(database);
  require_known_device(store, device);
  wanted.device = device;
  wanted.know(store.devices());
  return bests_today(store, wanted, true).bests;
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

// What ships with the program: databases of bests, and recordings.

db::Store open_to_read(const std::string& given, const std::string& device) {
  const fs::path path = database_path(given);
  std::error_code error;
  const bool there = names_database(given) || fs::exists(path, error);
  if (there) {
    db::Store own = db::Store::open_read_only(path);
    if (names_database(given) || own.last_entry() != 0) return own;
  }
  std::optional<db::Store> bests = bests_for(device);
  if (!bests) return db::Store::open_read_only(path);
  Screen::instance().print_line(fmt::format("{} {}; these are the bests that ship, {}", path.string(),
      there ? "holds no records yet" : "is not there yet", bests->path().lexically_normal().string()));
  return *std::move(bests);
}

std::string recording_named(const std::string& given) {
  std::error_code error;
  const fs::path shipped = shipped_folder("recordings") / (given + ".jsonl.zst");
  const bool is_name = given.find('/') == std::string::npos && !fs::exists(given, error);
  return is_name && fs::exists(shipped, error) ? shipped.lexically_normal().string() : given;
}

}  // namespace tilesmith::tuner
