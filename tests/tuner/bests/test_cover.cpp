// The set of kernels that a bundle packs for any shape.
#include <algorithm>
#include <atomic>
#include <set>

#include "tests/catch.hpp"
#include "tuner/bests/make_bundle.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

const std::atomic<bool> kNeverStop{false};

struct Covered {
  explicit Covered(std::size_t most, const std::atomic<bool>& stop = kNeverStop)
      : target{{*find_type_pair("f64f64"), {}}, *limits_for_arch("sm_87")},
        chooser({}, target, [](const std::string&) { return db::Environment{}; }),
        cover(choose_cover(chooser, target, most, stop, [this](std::size_t) { ++steps; })) {}

  KernelTarget target;
  runtime::Chooser chooser;
  std::atomic<std::size_t> steps{0};
  Cover cover;
};

}  // namespace

TEST_CASE("a cover runs every shape of its grid, with no more kernels than asked for, and more of them serve better",
    "[cover]") {
  const Covered few(4), more(16);
  CHECK(few.cover.configs.size() <= 4);
  CHECK(more.cover.configs.size() > few.cover.configs.size());
  CHECK(more.cover.mean_of_best > few.cover.mean_of_best);
  CHECK(more.cover.mean_of_best > 0.9);
  CHECK(more.cover.mean_of_best <= 1);
  std::set<std::string> texts;
  for (const Config& config : more.cover.configs) texts.insert(config.text());
  CHECK(texts.size() == more.cover.configs.size());
  for (const Problem& problem : cover_grid(more.target)) {
    const bool served = std::ranges::any_of(more.cover.configs,
        [&](const Config& config) { return !refused_because(*find_family(config.family()), config, problem); });
    INFO(text(problem));
    CHECK(served);
  }
  CHECK(more.steps > 0);
}

TEST_CASE("a cover that is stopped is empty", "[cover]") {
  const std::atomic<bool> stopped{true};
  CHECK(Covered(4, stopped).cover.configs.empty());
}
