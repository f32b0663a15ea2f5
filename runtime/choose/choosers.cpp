#include "runtime/choose/choosers.hpp"

#include <algorithm>

#include "db/store/logger.hpp"
#include "db/store/trust.hpp"
#include "runtime/compile/compiler.hpp"

namespace tilesmith::runtime {

const Chooser& Choosers::of(const KernelTarget& target) {
  const std::string key = text(target.signature());
  if (const auto known = choosers_.find(key); known != choosers_.end()) return known->second;
  const std::vector<db::Record>& records = records_of(target);
  const EnvironmentToJudgeBy now = [&](const std::string& family) {
    return environment_to_judge_by(records, family, device_.identity, target, device_.driver_version);
  };
  const std::set<std::string> stored = catalogue_.stored_configs(target);
  StoredKernels kernels{[&](const Config& config) { return stored.contains(config.text()); }, {}};
  if (catalogue_.is_selection()) {
    for (const std::string& text : stored) kernels.candidates.push_back(*Config::parse(text));
  }
  return choosers_.emplace(key, Chooser(records, target, now, &device_.identity, kernels)).first->second;
}

const db::VendorIndex& Choosers::vendor_of(const TypePair& type) {
  const auto known = vendor_.find(std::string(type.name));
  if (known != vendor_.end()) return known->second;
  return vendor_.emplace(type.name, db::VendorIndex(catalogue_.vendor_times(type, device_.identity))).first->second;
}

const std::vector<db::Record>& Choosers::records_of(const KernelTarget& target) {
  // Those of type pairs that tell of each other are the same.
  const auto known = std::ranges::find_if(
      records_, [&](const auto& read) { return tell_of_each_other(*find_type_pair(read.first), target.type); });
  if (known != records_.end()) return known->second;
  const std::vector<db::Record>& read =
      records_.emplace(target.type.name, catalogue_.records(target.type, device_.limits.sm)).first->second;
  const std::string line = logs_ ? db::not_loaded_text(db::families_not_loaded(read)) : "";
  if (!line.empty()) db::logger()->warn("{}", line);
  return read;
}

db::Environment environment_to_judge_by(std::span<const db::Record> entries, const std::string& family,
    const db::DeviceIdentity& device, const KernelTarget& target, const std::string& driver_version) {
  const std::string options = compiler_options_text(target);
  const auto tells_more = [&](const db::Record& a, const db::Record* b) {
    if (b == nullptr) return true;
    if (db::is_trial(a.environment) != db::is_trial(b->environment)) return db::is_trial(b->environment);
    const bool own = a.device == device;
    return own != (b->device == device) ? own : db::is_later(a, *b);
  };
  const db::Record* of_family = nullptr;
  const db::Record* of_any = nullptr;
  for (const db::Record& entry : entries) {
    if (entry.environment.compiler_options != options) continue;
    if (tells_more(entry, of_any)) of_any = &entry;
    if (entry.config.family() == family && tells_more(entry, of_family)) of_family = &entry;
  }
  db::Environment now;
  if (of_family != nullptr) now = of_family->environment;
  if (of_any != nullptr) now.measuring_policy = of_any->environment.measuring_policy;
  now.compiler_options = options;
  if (!driver_version.empty()) now.driver_version = driver_version;
  return now;
}

}  // namespace tilesmith::runtime
