#include "tuner/measure/rotation.hpp"

#include <random>
#include <stdexcept>
#include <vector>

#include "tests/catch.hpp"

using namespace tilesmith::tuner;

namespace {

struct Launch {
  int competitor;
  int set;
};

/// Takes samples as samplers do: a launch, or a graph of the layout that all share, by competitors in no order.
std::vector<Launch> launches_of(Rotation& rotation, int competitors, int samples, const GraphLayout* layout) {
  std::mt19937 chance(7);
  std::vector<Launch> launches;
  for (int i = 0; i < samples; ++i) {
    const int competitor = int(chance() % unsigned(competitors));
    if (layout == nullptr) {
      launches.push_back({competitor, rotation.next()});
      continue;
    }
    const int graph = rotation.next_graph(*layout);
    for (int j = 0; j < layout->launches(graph); ++j) {
      launches.push_back({competitor, (layout->first_set(graph) + j) % layout->operand_sets});
    }
  }
  return launches;
}

void check_in_order(const std::vector<Launch>& launches, int sets) {
  for (std::size_t i = 1; i < launches.size(); ++i) {
    INFO("launch " << i << " of " << sets << " sets, by " << launches[i].competitor << " after "
                   << launches[i - 1].competitor);
    REQUIRE(launches[i].set == (launches[i - 1].set + 1) % sets);
  }
}

}  // namespace

TEST_CASE("whoever launches takes the set after the last one's") {
  for (const int sets : {1, 2, 3, 13, 256}) {
    Rotation rotation(sets);
    check_in_order(launches_of(rotation, 4, 600, nullptr), sets);
  }
}

TEST_CASE("graphs of several competitors pass through the sets in one order, whatever pieces these are cut into") {
  for (const int sets : {1, 2, 7, 13, 50, 255, 256}) {
    for (const double launch_us : {0.1, 2.0, 7.0, 20.0, 49.0}) {
      const GraphLayout layout = graph_layout(sets, launch_us);
      Rotation rotation(sets);
      INFO(sets << " sets of " << launch_us << " us in " << layout.graphs << " graphs");
      check_in_order(launches_of(rotation, 3, 40, &layout), sets);
    }
  }
}

TEST_CASE("a rotation goes on where the last measurement left it") {
  Rotation rotation(10);
  const GraphLayout halves{10, 2, 5};
  for (int set = 0; set < 7; ++set) CHECK(rotation.next() == set);
  CHECK_FALSE(rotation.begins_graph(halves));
  CHECK_THROWS_AS(rotation.next_graph(halves), std::logic_error);
  while (!rotation.begins_graph(halves)) rotation.next();
  CHECK(rotation.next_graph(halves) == 0);
  CHECK(rotation.next_graph(halves) == 1);
  CHECK(rotation.next_graph(halves) == 0);
  CHECK(rotation.next() == 5);
  CHECK_THROWS_AS(Rotation(0), std::invalid_argument);
}

TEST_CASE("graphs hold whole rotations when they are short, and pieces of one that cover every set when it is long") {
  const GraphLayout whole = graph_layout(10, 5);
  CHECK(whole.graphs == 1);
  CHECK(whole.launches_per_graph == 60);
  for (const int sets : {1, 2, 7, 50, 255, 256}) {
    for (const double launch_us : {0.1, 2.0, 7.0, 20.0, 49.0}) {
      const GraphLayout layout = graph_layout(sets, launch_us);
      INFO(sets << " sets of " << launch_us << " us");
      CHECK(layout.launches_per_graph >= 1);
      if (layout.graphs == 1) {
        CHECK(layout.launches(0) % sets == 0);
      } else {
        CHECK(layout.graphs <= 8);
        int covered = 0;
        for (int graph = 0; graph < layout.graphs; ++graph) {
          CHECK(layout.first_set(graph) == covered);
          CHECK(layout.launches(graph) >= 1);
          covered += layout.launches(graph);
        }
        CHECK(covered == sets);
      }
    }
  }
}
