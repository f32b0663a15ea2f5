#include "tuner/what_ran.hpp"

#include <optional>

#include "kernels/family.hpp"
#include "runtime/plan_hash.hpp"

namespace tilesmith::tuner {

std::string what_ran(const db::Store& store, const db::Evidence& entry, const std::string& arch) {
  if (entry.producer.template_hash != template_hash(entry.config.family())) return {};
  const std::optional<db::KernelBuild> build =
      store.find_build({entry.config, entry.problem.type, entry.problem.trans, arch, entry.producer.template_hash,
                        entry.producer.compiler_options, entry.producer.nvrtc_version});
  return build ? runtime::plan_hash(entry.config, entry.problem, build->cubin) : std::string();
}

}  // namespace tilesmith::tuner
