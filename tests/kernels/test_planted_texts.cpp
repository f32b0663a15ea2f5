#include <set>

#include "kernels/families/device_limits.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/planted_bugs.hpp"

using namespace tilesmith;

TEST_CASE("every planted bug changes the source that it is planted in, in a config that is legal") {
  const DeviceLimits limits = *limits_for_arch("sm_90a");
  std::set<std::string> names;
  for (const planted::Bug& bug : planted::all_bugs()) {
    INFO(bug.family << ": " << bug.name);
    const KernelTarget target = bug.target(limits);
    const Family& family = *find_family(bug.family);
    REQUIRE(family.supports(target));
    const Config config = planted::config_of(bug, target);
    CHECK(illegal_because(family, config, target).value_or("") == "");
    planted::Bug sound = bug;
    sound.edits.clear();
    CHECK(planted::planted_source(bug, target) != planted::planted_source(sound, target));
    CHECK(names.insert(std::string(bug.family) + bug.name + bug.type + (bug.weights ? bug.weights : "")).second);
  }
}
