#include "runtime/producer_now.hpp"

#include "runtime/compiler.hpp"

namespace tilesmith::runtime {

db::Producer producer_now(std::span<const db::Evidence> entries, const std::string& family, const db::DeviceIdentity& device,
                          const KernelTarget& target, const std::string& driver_version) {
  const std::string options = compiler_options_text(target);
  const db::Evidence* newest = nullptr;
  const auto tells_more = [&](const db::Evidence& a, const db::Evidence& b) {
    if (db::is_trial(a.producer) != db::is_trial(b.producer)) return db::is_trial(b.producer);
    const bool own = a.device == device;
    return own != (b.device == device) ? own : db::is_later(a, b);
  };
  for (const db::Evidence& entry : entries) {
    if (entry.config.family() != family || entry.producer.compiler_options != options) continue;
    if (newest == nullptr || tells_more(entry, *newest)) newest = &entry;
  }
  db::Producer now;
  if (newest != nullptr) now = newest->producer;
  now.compiler_options = options;
  if (!driver_version.empty()) now.driver_version = driver_version;
  return now;
}

}  // namespace tilesmith::runtime
