#include "runtime/choose/producer_to_judge_by.hpp"

#include "runtime/compile/compiler.hpp"

namespace tilesmith::runtime {

db::Producer producer_to_judge_by(std::span<const db::Evidence> entries, const std::string& family, const db::DeviceIdentity& device,
                          const KernelTarget& target, const std::string& driver_version) {
  const std::string options = compiler_options_text(target);
  const auto tells_more = [&](const db::Evidence& a, const db::Evidence* b) {
    if (b == nullptr) return true;
    if (db::is_trial(a.producer) != db::is_trial(b->producer)) return db::is_trial(b->producer);
    const bool own = a.device == device;
    return own != (b->device == device) ? own : db::is_later(a, *b);
  };
  const db::Evidence* of_family = nullptr;
  const db::Evidence* of_any = nullptr;
  for (const db::Evidence& entry : entries) {
    if (entry.producer.compiler_options != options) continue;
    if (tells_more(entry, of_any)) of_any = &entry;
    if (entry.config.family() == family && tells_more(entry, of_family)) of_family = &entry;
  }
  db::Producer now;
  if (of_family != nullptr) now = of_family->producer;
  if (of_any != nullptr) now.measuring_policy = of_any->producer.measuring_policy;
  now.compiler_options = options;
  if (!driver_version.empty()) now.driver_version = driver_version;
  return now;
}

}  // namespace tilesmith::runtime
