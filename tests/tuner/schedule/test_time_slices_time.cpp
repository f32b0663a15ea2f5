// How tuners of one database share out their time.
#include "tests/catch.hpp"
#include "tests/tuner/schedule/shared_database.hpp"
#include "tuner/schedule/time_slices.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;
using State = SliceBoard::State;

TEST_CASE("the time of all tuners is shared out by weight") {
  Shared shared;
  SliceBoard board(shared.workload, 100);
  board.set_tuners(2);
  TimeSlices one(shared.workload, shared.store, device(), board, 0),
      two(shared.workload, shared.store, device(), board, 1);
  auto first = one.take(0, 100);
  CHECK(first->share == Approx(0.5));  // two problems each
  auto second = two.take(0, 100);
  CHECK(second->share == Approx(0.5));
  one.finished(*first);
  first.reset();
  first = one.take(40, 100);  // 120 s in all, 10 of them promised, for two problems
  CHECK(first->share * 60 == Approx(55));
  two.finished(*second);
  second.reset();
  second = two.take(50, 100);
  CHECK(second->share == Approx(1));

  SliceBoard alone(shared.workload, 100);
  TimeSlices single(shared.workload, shared.store, device("Other"), alone, 0);
  CHECK(single.take(0, 100)->share == Approx(0.25));
}

TEST_CASE("where shares are given, the time is shared out by them, and the largest come first") {
  Shared shared;
  SliceBoard board(shared.workload, 100);
  TimeSlices slices(shared.workload, shared.store, device(), board, 0, nullptr, {}, {1, 5, 10, 4});
  auto slice = slices.take(0, 100);
  CHECK(slice->task == 2);
  CHECK(slice->share == Approx(0.5));
  slices.finished(*slice);
  slice.reset();
  slice = slices.take(50, 100);
  CHECK(slice->task == 1);
  CHECK(slice->share == Approx(0.5));
  slices.finished(*slice);
  slice.reset();
  slice = slices.take(75, 100);
  CHECK(slice->task == 3);
  CHECK(slice->share == Approx(0.8));

  SliceBoard other_board(shared.workload, 100);  // what an earlier run has not got to comes first all the same
  TimeSlices resumed(
      shared.workload, shared.store, device("Other"), other_board, 0, nullptr, {0, 1, 1, 0}, {1, 5, 10, 4});
  CHECK(resumed.take(0, 100)->task == 3);
}

TEST_CASE("what slices take beyond their share is set aside for all first ones to come") {
  Shared shared;  // four problems
  SliceBoard board(shared.workload, 100);
  TimeSlices slices(shared.workload, shared.store, device(), board, 0);
  double now = 0;
  for (int i = 0; i < 4; ++i) {
    const auto slice = slices.take(now, 100, 0, 5);
    REQUIRE(slice);
    const double seconds = slice->share * (100 - now);
    CHECK(seconds == Approx(20));  // whatever the others took: the last one has as much as the first
    now += seconds + 5;
    slices.finished(*slice);
  }
  CHECK(now == Approx(100));

  SliceBoard of_two(shared.workload, 100);
  of_two.set_tuners(2);
  TimeSlices one(shared.workload, shared.store, device("Third"), of_two, 0),
      two(shared.workload, shared.store, device("Third"), of_two, 1);
  const auto first = one.take(0, 100, 0, 5);
  CHECK(first->share == Approx(0.45));
  CHECK(two.take(0, 100, 0, 5)->share == Approx(0.45));  // the first one's slice will be longer than its share too

  SliceBoard short_of_time(shared.workload, 100);
  TimeSlices hurried(shared.workload, shared.store, device("Other"), short_of_time, 0);
  CHECK(hurried.take(0, 100, 0, 50)->share == Approx(0.125));  // half of a quarter
}

TEST_CASE(
    "a problem that one tuner set aside has its share while others may take it, and what they are promised for it") {
  Shared shared;
  shared.workload = squares({16, 32, 64});
  const auto share_behind_one_set_aside = [&](int tuners, bool taken) {
    SliceBoard board(shared.workload, 100);
    board.set_tuners(tuners);
    TimeSlices slices(shared.workload, shared.store, device(), board, 0);
    slices.set_aside(*slices.take(0, 100));
    if (taken) board.begin(0, 1, 100);
    const auto next = slices.take(0, 100);
    CHECK(next->task == 1);
    return next->share;
  };
  CHECK(share_behind_one_set_aside(2, true) == Approx(0.5));  // the other one has 0 to the end
  CHECK(share_behind_one_set_aside(2, false) == Approx(2.0 / 3));
  CHECK(share_behind_one_set_aside(1, false) == Approx(0.5));
}

TEST_CASE("no share is more than the time left, nor less for a tuner that died with a promise") {
  Shared shared;
  shared.workload = squares({16, 32});
  SliceBoard board(shared.workload, 100);
  board.set_tuners(8);
  TimeSlices one(shared.workload, shared.store, device(), board, 0);
  CHECK(one.take(0, 100)->share == 1);
  board.set_tuners(1);
  board.begin(0, 7, 100);
  board.release(0);
  CHECK(one.take(0, 100)->share == 1);  // of the problem that is not begun
}

TEST_CASE("what settled problems give up is theirs too, and is no part of the others' first slices") {
  Shared shared;
  SliceBoard board(shared.workload, 100);
  TimeSlices slices(shared.workload, shared.store, device(), board, 0);
  {
    const auto first = slices.take(0, 100);
    CHECK(first->share == Approx(0.25));
    slices.rested(*first, {{40, 10, 0, 0}, 0.25, 15});
  }
  CHECK(board.note(0).state == State::open);
  CHECK(board.had_slices() == 1);
  CHECK(board.rest_of(0).spare_seconds == 15);
  const auto second = slices.take(10, 100);
  CHECK(second->task == 1);
  CHECK(second->share * 90 == Approx(25));
}

TEST_CASE("time given up is of use while another problem is left, in the last first slice too") {
  Shared shared;
  shared.workload.tasks.resize(2);
  SliceBoard board(shared.workload, 100);
  TimeSlices slices(shared.workload, shared.store, device(), board, 0);
  {
    const auto first = slices.take(0, 100);
    CHECK(first->others_left);
    slices.rested(*first, {{40, 10, 0.1, 0}, 0.25, 0});
  }
  {
    const auto last = slices.take(50, 100);
    CHECK(last->number == 1);
    CHECK(last->others_left);
    slices.finished(*last);
  }
  CHECK_FALSE(slices.take(60, 100)->others_left);
}

TEST_CASE("further slices go where weight, time and gain promise most, and last for a third as many evaluations") {
  Shared shared;
  shared.workload.tasks[3].weight = 4;
  SliceBoard board(shared.workload, 1000);
  TimeSlices slices(shared.workload, shared.store, device(), board, 0);
  const Trend small{60, 10, 0.1, 0}, large{60, 100, 0.1, 0}, settled{60, 1000, 0, 0}, at_peak{60, 1000, 0.1, 1000};
  const auto leave = [&](std::initializer_list<Trend> trends) {
    std::size_t i = 0;
    for (const Trend& trend : trends) board.rest(i++, {trend, 0.5, 0});
  };
  leave({small, settled, large, settled});
  CHECK(slices.all_had_slices());
  CHECK_FALSE(slices.all_done());
  {
    const auto slice = slices.take(900, 1000);
    REQUIRE(slice);
    CHECK(slice->task == 2);
    CHECK(slice->number == 2);
    CHECK(slice->share * 100 == Approx(10));
    CHECK(*slice->next == shared.workload.tasks[0].task);
    slices.rested(*slice, {settled, 0.5, 0});
  }
  CHECK(slices.take(900, 1000)->task == 0);
  leave({small, settled, at_peak, small});
  CHECK(slices.take(900, 1000)->task == 3);  // by its weight
  leave({small, {3, 0, 0, 0}, large, large});
  CHECK(slices.take(900, 1000)->task == 1);  // nothing can be said of it
  CHECK(slices.take(900, 1000, 50)->share == Approx(0.5));
  CHECK_FALSE(slices.take(960, 1000, 50));  // not worth beginning
}

TEST_CASE("where nothing is expected of any problem, the time goes by weight to those that had least of it") {
  Shared shared;
  shared.workload = squares({16, 32, 64});
  shared.workload.tasks[2].weight = 2;
  SliceBoard board(shared.workload, 1000);
  TimeSlices slices(shared.workload, shared.store, device(), board, 0);
  for (std::size_t i = 0; i < 3; ++i) board.rest(i, {{40.0 - double(i), 10, 0, 0}, 1, 0});
  const auto slice = slices.take(900, 1000);
  CHECK(slice->task == 2);
  CHECK(slice->share == Approx(0.5));
  CHECK(*slice->next == shared.workload.tasks[1].task);
}
