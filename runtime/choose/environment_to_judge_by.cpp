#include "runtime/choose/environment_to_judge_by.hpp"

#include "runtime/compile/compiler.hpp"

namespace tilesmith::runtime {

db::Environment environment_to_judge_by(std::span<const db::Record> entries, const std::string& family, const db::DeviceIdentity& device,
                          const KernelTarget& target, const std::string& driver_version) {
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
