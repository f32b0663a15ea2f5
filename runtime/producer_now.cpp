#include "runtime/producer_now.hpp"

#include "runtime/compiler.hpp"

namespace tilesmith::runtime {

db::Producer producer_now(std::span<const db::Evidence> entries, const std::string& family, const db::DeviceIdentity& device,
                          const KernelTarget& target, const std::string& driver_version) {
  const std::string options = compiler_options_text(target);
  const db::Evidence* newest = nullptr;
  bool is_own = false;
  for (const db::Evidence& entry : entries) {
    if (entry.config.family() != family || entry.producer.compiler_options != options) continue;
    const bool own = entry.device == device;
    if (newest == nullptr || own > is_own || (own == is_own && db::is_later(entry, *newest))) {
      newest = &entry;
      is_own = own;
    }
  }
  db::Producer now;
  if (newest != nullptr) now = newest->producer;
  now.compiler_options = options;
  if (!driver_version.empty()) now.driver_version = driver_version;
  return now;
}

}  // namespace tilesmith::runtime
