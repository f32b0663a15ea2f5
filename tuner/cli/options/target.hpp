// Which device or architecture a command works for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/exchange/export.hpp"
#include "db/store/store.hpp"
#include "runtime/driver/device.hpp"
#include "tuner/target_device.hpp"
#include "tuner/wanted.hpp"
#include "tuner/workload.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tilesmith::tuner {

/// Throws UsageError naming the option and what is supported.
DeviceLimits require_arch(std::string_view arch, std::string_view option = "--arch");

/// All devices here, at least one. Throws UsageError: one line that says why there is none, and `advice`.
std::vector<runtime::DeviceInfo> require_devices(std::string_view advice);

/// The first device here of an architecture that Tilesmith supports.
std::optional<runtime::DeviceInfo> first_supported();

/// The device of that ordinal. Throws UsageError as require_devices(), or one line that says which ordinals there are,
/// or that its architecture is not supported.
runtime::DeviceInfo require_device(int ordinal, std::string_view advice);

/// The option --as of the commands that run kernels. Its text is checked by require_arch(.., "--as").
CLI::Option* add_as_option(CLI::App& app, std::string& as);

/// The same device as one that runs the code of `as` (empty: its own). Throws UsageError naming --as if it cannot.
runtime::DeviceInfo require_device_as(runtime::DeviceInfo device, std::string_view as);

/// The device of the store that `part` means (db::meant_by; empty: any that ran its own code). Throws UsageError unless
/// exactly one matches, listing those there are.
TargetDevice require_stored_device(const db::Store& store, const std::string& part);

/// What the workload's problems need kernels for, each signature once.
std::vector<KernelTarget> targets_of(const Workload& workload, const DeviceLimits& limits);

/// Throws UsageError naming --family, and what of the first target is the reason, if none of these supports any of the
/// targets.
void require_support(const std::vector<const Family*>& families, const std::vector<KernelTarget>& targets);

/// Throws UsageError, listing the store's devices, unless `part` means one of them or is empty. Where it means several,
/// a line says so.
void require_known_device(const db::Store& store, const std::string& part);

/// One side's bests of `compare` and `report --against`, those that are retired included. Throws UsageError as above.
std::vector<db::JudgedBest> bests_to_compare(
    const std::string& database, const std::string& device, Wanted wanted = {});

/// The device that `explain` and its like answer for: one of the store that --device names, else the GPU here (if the
/// store is about any device, or none), else the only one of the store.
TargetDevice device_to_answer_for(const db::Store& store, const std::string& part);

/// Opens what --db or $TILESMITH_DB names, else your own database. While that has no records, the bests that ship for
/// --device, else for the GPU here, take its place, and one line on stderr says so. Throws StoreError.
db::Store open_to_read(const std::string& given, const std::string& device);
/// The recording that ships under this name ("h100"), if no file has it; else what was given.
std::string recording_named(const std::string& given);

}  // namespace tilesmith::tuner
