#include "db/store/trust.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "kernels/families/plan_hash.hpp"
#include "kernels/families/tasks.hpp"

namespace tilesmith::db {
namespace {

/// Versions of one kind compare. "CUDA 13.0" and "580.159" may be the same driver's, and where none is known none has
/// changed.
bool driver_changed(const std::string& a, const std::string& b) {
  const auto is_of_cuda = [](const std::string& version) { return version.starts_with("CUDA "); };
  return a != b && !a.empty() && !b.empty() && is_of_cuda(a) == is_of_cuda(b);
}

}  // namespace

Trust judge_environment(const Environment& entry, const Environment& now) {
  if (entry.compiler_options != now.compiler_options) return Trust::retired;
  if (entry.measuring_policy != now.measuring_policy || is_trial(entry)) return Trust::remeasure;
  if (entry.nvrtc_version != now.nvrtc_version || driver_changed(entry.driver_version, now.driver_version))
    return Trust::reverify;
  return Trust::valid;
}

Trust judge(const Record& entry, const Environment& now) {
  const Trust by_environment = judge_environment(entry.environment, now);
  if (by_environment == Trust::retired) return by_environment;
  return entry.plan_hash == plan_hash(entry.config, entry.task, now.compiler_options) ? by_environment : Trust::retired;
}

bool supersedes(const Record& a, const Record& b) {
  const bool a_is_trial = is_trial(a.environment);
  return a_is_trial != is_trial(b.environment) ? !a_is_trial : is_later(a, b);
}

void keep_comparable(std::vector<Judged>& entries) {
  if (entries.empty()) return;
  const bool any_of_today =
      std::any_of(entries.begin(), entries.end(), [](const Judged& one) { return one.trust != Trust::remeasure; });
  const auto latest = std::max_element(
      entries.begin(), entries.end(), [](const Judged& a, const Judged& b) { return supersedes(*b.entry, *a.entry); });
  const std::string policy = latest->entry->environment.measuring_policy;
  std::erase_if(entries, [&](const Judged& one) {
    return one.trust == Trust::remeasure && (any_of_today || one.entry->environment.measuring_policy != policy);
  });
}

std::string_view name(Trust trust) {
  constexpr std::string_view kNames[] = {"valid", "reverify", "remeasure", "retired"};
  return kNames[std::size_t(trust)];
}

std::vector<std::string> families_not_loaded(std::span<const Record> entries) {
  std::set<std::string> names;
  for (const Record& entry : entries) names.insert(entry.config.family());
  std::erase_if(names, [](const std::string& name) { return is_loaded(name); });
  return {names.begin(), names.end()};
}

std::string not_loaded_text(const std::vector<std::string>& families) {
  if (families.empty()) return {};
  return fmt::format("records of {} are passed over: not loaded, see --family-dir and $TILESMITH_FAMILY_DIR",
      fmt::join(families, ", "));
}

}  // namespace tilesmith::db
