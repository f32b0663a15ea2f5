#include "db/store/families_not_loaded.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "kernels/families/family.hpp"

namespace tilesmith::db {

std::vector<std::string> families_not_loaded(std::span<const Record> entries) {
  std::set<std::string> names;
  for (const Record& entry : entries) names.insert(entry.config.family());
  std::erase_if(names, [](const std::string& name) { return find_family(name) != nullptr; });
  return {names.begin(), names.end()};
}

std::string not_loaded_text(const std::vector<std::string>& families) {
  if (families.empty()) return {};
  return fmt::format("records of {} are passed over: not loaded, see --family-dir and $TILESMITH_FAMILY_DIR", fmt::join(families, ", "));
}

}  // namespace tilesmith::db
