// Every family, type pair and transposes on the device: the battery over a sample that covers the space.
#include <future>
#include <memory>

#include "kernels/space.hpp"
#include "runtime/compiler.hpp"
#include "runtime/device.hpp"
#include "tests/catch.hpp"
#include "tuner/verify/verifier.hpp"

using namespace tilesmith;

namespace {

constexpr std::size_t kSpread = 8;  // configs of a space, besides its ladder and the best of its seeds
constexpr std::size_t kSeeds = 4;

std::vector<Config> sample(const Family& family, const KernelTarget& target) {
  std::vector<Config> configs;
  for (const NamedConfig& rung : family.ladder(target)) configs.push_back(rung.config);
  const std::vector<Config> seeds = family.seeds(target, ordinary_problem(target));
  for (std::size_t i = 0; i < seeds.size() && i < kSeeds; ++i) configs.push_back(seeds[i]);
  const Space space = enumerate_space(family, target);
  for (std::size_t i = 0; i < kSpread; ++i) configs.push_back(space.configs[(i * 7919 + 13) % space.configs.size()]);
  return configs;
}

}  // namespace

TEST_CASE("a sample of every family passes the battery for every type pair and transposes") {
  const runtime::Context context(0);
  tuner::Verifier verifier(context);
  for (const TypePair& type : type_pairs()) {
    for (Transposes trans : kAllTransposes) {
      const KernelTarget target{type, trans, context.info().limits};
      for (const auto& family : families()) {
        if (!family->supports(target) || template_hash(family->name()).rfind("unhashed", 0) == 0) continue;
        const std::vector<Config> configs = sample(*family, target);
        std::vector<std::future<db::KernelBuild>> builds;
        for (const Config& config : configs) {
          builds.push_back(std::async(std::launch::async, [config, target] { return runtime::compile(config, target); }));
        }
        for (std::size_t i = 0; i < configs.size(); ++i) {
          const db::KernelBuild build = builds[i].get();
          INFO(type.name << " " << name(trans) << " " << configs[i].text() << ": " << build.message);
          REQUIRE_FALSE(build.cubin.empty());
          const auto module = std::make_shared<const runtime::Module>(build.cubin);
          const db::Outcome outcome = verifier.battery(module, configs[i], target);
          INFO(outcome.message);
          CHECK(outcome.status == db::Status::ok);
        }
      }
    }
  }
}
