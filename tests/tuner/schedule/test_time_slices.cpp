// Who tunes which problem, where several tuners share a workload and a database.
#include "tuner/schedule/time_slices.hpp"

#include <limits>
#include <thread>

#include "tests/catch.hpp"
#include "tests/tuner/schedule/shared_database.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;
using State = SliceBoard::State;

TEST_CASE("tuners of one run take different problems, and each has one slice") {
  Shared shared;
  SliceBoard board(shared.workload);
  TimeSlices one(shared.workload, shared.store, device(), board, 0),
      two(shared.workload, shared.store, device(), board, 1);
  auto first = one.take(0, kNoEnd);
  auto second = two.take(0, kNoEnd);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->task == 0);
  CHECK(*first->next == shared.workload.tasks[1].task);
  CHECK(second->task == 2);  // what the other one prepares for is left to it
  CHECK(*second->next == shared.workload.tasks[3].task);
  one.finished(*first);
  first.reset();
  first = one.take(0, kNoEnd);
  CHECK(first->task == 1);
  CHECK(first->next == nullptr);  // the last one is being prepared for
  one.finished(*first);
  first.reset();
  first = one.take(0, kNoEnd);  // rather than wait, what the other one prepares for
  CHECK(first->task == 3);
  two.finished(*second);
  second.reset();
  CHECK_FALSE(two.take(0, kNoEnd));
  CHECK(two.waiting_for() == "1 task that other tuners have locked");
  CHECK_FALSE(two.all_done());
  one.finished(*first);
  CHECK(two.all_done());
}

TEST_CASE("a problem whose tuner died is free to the others, and one that was given up too") {
  Shared shared;
  shared.workload = squares({16});
  SliceBoard board(shared.workload);
  TimeSlices survivor(shared.workload, shared.store, device(), board, 1);
  {
    TimeSlices interrupted(shared.workload, shared.store, device(), board, 0);
    const auto slice = interrupted.take(0, kNoEnd);
    CHECK(board.note(0).state == State::begun);
    CHECK_FALSE(survivor.take(0, kNoEnd));
  }
  CHECK(board.note(0).state == State::open);
  board.begin(0, 0, 1e9);  // a killed one leaves its note, not its lock
  const auto slice = survivor.take(0, kNoEnd);
  REQUIRE(slice);
  CHECK(board.note(0).tuner == 1);
  board.release(0);  // the dead one's notes go, others' stay
  CHECK(board.note(0).state == State::begun);
  survivor.finished(*slice);
  board.release(1);
  CHECK(board.note(0).state == State::done);
}

TEST_CASE("what an earlier run has not got to comes first") {
  Shared shared;
  SliceBoard board(shared.workload);
  TimeSlices slices(shared.workload, shared.store, device(), board, 0, nullptr, {1, 1, 0, 0});
  for (const std::size_t problem : {2u, 3u, 0u, 1u}) {
    const auto slice = slices.take(0, kNoEnd);
    CHECK(slice->task == problem);
    slices.finished(*slice);
  }
}

TEST_CASE("tuners of different models and of other runs give every problem a slice") {
  Shared shared;
  shared.workload = squares({16, 32});
  SliceBoard board(shared.workload), other_board(shared.workload);
  TimeSlices mine(shared.workload, shared.store, device(), board, 0);
  const auto slice = mine.take(0, kNoEnd);
  TimeSlices model(shared.workload, shared.store, device("Other"), other_board, 0);
  CHECK(model.take(0, kNoEnd)->task == 0);
  SliceBoard later_board(shared.workload);
  TimeSlices later(shared.workload, shared.store, device(), later_board, 0);
  auto elsewhere = later.take(0, kNoEnd);
  REQUIRE(elsewhere);
  CHECK(elsewhere->task == 1);
  CHECK(elsewhere->next == nullptr);  // nothing is prepared for what another has
  later.finished(*elsewhere);
  elsewhere.reset();
  CHECK_FALSE(later.take(0, kNoEnd));
}

TEST_CASE("tuners that share a GPU have it in turn") {
  Shared shared;
  SliceBoard one_board(shared.workload), two_board(shared.workload);
  GpuQueue one_queue(shared.store, "GPU 0"), two_queue(shared.store, "GPU 0"), other_queue(shared.store, "GPU 1");
  TimeSlices one(shared.workload, shared.store, device(), one_board, 0, &one_queue);
  TimeSlices two(shared.workload, shared.store, device(), two_board, 0, &two_queue);
  TimeSlices other_gpu(shared.workload, shared.store, device(), two_board, 1, &other_queue);
  auto slice = one.take(0, kNoEnd);
  REQUIRE(slice);
  CHECK_FALSE(two.take(0, kNoEnd));
  CHECK(two.waiting_for().find("the GPU") == 0);
  CHECK(other_gpu.take(0, kNoEnd));
  one.finished(*slice);
  slice.reset();
  CHECK_FALSE(one.take(0, kNoEnd));  // the other one waits for it
  CHECK(two.take(0, kNoEnd));
  CHECK(one.take(0, kNoEnd));
}

TEST_CASE("a GPU that is held on to is nobody else's, and is given for the next slice") {
  Shared shared;
  SliceBoard board(shared.workload);
  GpuQueue mine(shared.store, "GPU 0"), others(shared.store, "GPU 0");
  std::optional<db::TaskLock> gpu = mine.take();
  REQUIRE(gpu);
  mine.put_back(std::move(*gpu));
  gpu.reset();
  CHECK_FALSE(others.take());
  TimeSlices slices(shared.workload, shared.store, device(), board, 0, &mine);
  {
    const auto slice = slices.take(0, kNoEnd);
    CHECK(slice);
    CHECK_FALSE(others.take());
  }
  CHECK(others.take());
}

TEST_CASE("a board is inherited for its own workload only") {
  const Workload workload = squares({16, 32});
  SliceBoard board(workload, 42);
  board.set_tuners(3);
  SliceBoard same = SliceBoard::inherited(::dup(board.fd()), workload);
  CHECK(same.ends() == 42);
  CHECK(same.tuners() == 3);
  same.finish(1, 2);
  CHECK(board.note(1).state == State::done);
  CHECK(board.count(State::done) == 1);
  CHECK_THROWS_WITH(SliceBoard::inherited(::dup(board.fd()), squares({16, 64})), Catch::Contains("has changed"));
  CHECK_THROWS_WITH(SliceBoard::inherited(-1, workload), Catch::Contains("no board of slices"));
  CHECK_THROWS_WITH(
      SliceBoard::inherited(::open("/dev/null", O_RDONLY), workload), Catch::Contains("no board of slices"));
  REQUIRE(::ftruncate(board.fd(), 60) == 0);  // less than its problems need
  CHECK_THROWS_WITH(SliceBoard::inherited(::dup(board.fd()), workload), Catch::Contains("no board of slices"));
}

TEST_CASE("two tuners at once share a run, and no candidate is tried twice") {
  register_toy_family();
  const Shared shared;
  const Workload workload = squares({16, 32, 64, 128, 256, 512});
  SliceBoard board(workload);
  board.set_tuners(2);
  ToyEvaluator evaluators[2];
  std::string ended[2];
  const auto work = [&](int tuner) {
    db::Store store = db::Store::open(shared.folder / "tuned.db");
    TuneOptions options = options_for(evaluators[tuner]);
    options.max_candidates = 12;
    options.board = &board;
    options.tuner = tuner;
    ended[tuner] = quiet_tune(workload, options, evaluators[tuner], store).ended_how;
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  CHECK(ended[0] == "done");
  CHECK(ended[1] == "done");
  CHECK(board.count(State::done) == 6);
  CHECK(evaluators[0].total() + evaluators[1].total() == 6 * 12);
  CHECK(evaluators[0].played_off.size() + evaluators[1].played_off.size() == 6);
  for (const auto& [key, count] : evaluators[0].evaluations) CHECK(evaluators[1].evaluations.count(key) == 0);
  CHECK(shared.store.integrity_error().empty());
}

TEST_CASE("a tuner waits for problems that another has, until they are free or its time is over") {
  Shared shared;
  ToyEvaluator evaluator;
  TuneOptions options = options_for(evaluator);
  options.max_candidates = 5;
  options.budget = std::chrono::seconds(1000);
  const Workload workload = squares({16, 32});
  std::optional<db::TaskLock> held = db::TaskLocks(shared.store).take(evaluator.device(), square(16));
  std::vector<std::string> order;
  const auto note = [&](const Progress& now) {
    if (order.empty() || order.back() != text(now.task)) order.push_back(text(now.task));
  };
  std::thread releasing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    held.reset();
  });
  CHECK(tune(workload, options, evaluator, shared.store, note, kNeverStop).ended_how == "done");
  releasing.join();
  CHECK(order == std::vector<std::string>{text(square(32)), text(square(16))});

  held = db::TaskLocks(shared.store).take(evaluator.device(), square(64));
  options.clock_seconds = [&] { return evaluator.clock += 400; };
  CHECK(tune(squares({64}), options, evaluator, shared.store, {}, kNeverStop).ended_how == "budget");
  const std::atomic<bool> stop{true};
  CHECK(tune(squares({64}), options, evaluator, shared.store, {}, stop).ended_how == "interrupted");
}
