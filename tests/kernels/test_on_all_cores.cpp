#include "kernels/base/on_all_cores.hpp"

#include <atomic>
#include <stdexcept>
#include <vector>

#include "tests/catch.hpp"

using namespace tilesmith;

TEST_CASE("each piece of work is done once, however many there are") {
  for (const std::size_t count : {0u, 1u, 2u, 1000u}) {
    std::vector<std::atomic<int>> done(count);
    on_all_cores(count, [&](std::size_t i) { ++done[i]; });
    for (const auto& times : done) CHECK(times == 1);
  }
}

TEST_CASE("what a piece of work throws is thrown where all of it was asked for") {
  for (const std::size_t thrower : {0u, 7u, 99u}) {
    CHECK_THROWS_AS(on_all_cores(100,
                        [&](std::size_t i) {
                          if (i == thrower) throw std::runtime_error("no");
                        }),
        std::runtime_error);
  }
}
