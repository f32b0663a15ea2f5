// What a run on several devices says of its end, where tuners fail or set problems aside.
#include "tuner/supervisor/supervision.hpp"

#include <vector>

#include "tests/catch.hpp"
#include "tests/tuner/tune_toy.hpp"
#include "tuner/exit_status.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

TEST_CASE("a tuner that failed goes before one that set a problem aside, whichever device comes first") {
  CHECK(worst_of(std::vector<int>{}) == kExitOk);
  CHECK(worst_of(std::vector<int>{kExitOk, kExitSetAside, kExitOk}) == kExitSetAside);
  CHECK(worst_of(std::vector<int>{kExitSetAside, kExitInternal}) == kExitInternal);
  CHECK(worst_of(std::vector<int>{kExitSetAside, kExitUsage, kExitInternal}) == kExitUsage);
}

TEST_CASE("what one tuner set aside is well if another got to it, to the end of its budget too") {
  const Workload workload = squares({64, 128});
  db::Store store = db::Store::in_memory();
  ToyEvaluator broken, sound;
  broken.answers = [&](const Candidate& candidate) {
    if (candidate.task.problem().m == 64) throw EvaluatorError("the reference is wrong");
    return broken.outcome_of(candidate.config);
  };
  SliceBoard board(workload, broken.clock + 60);
  board.set_tuners(2);
  TuneOptions options = options_for(broken);
  options.board = &board;
  CHECK(quiet_tune(workload, options, broken, store).set_aside == std::vector<Task>{square(64)});
  CHECK(beside_others(kExitSetAside, board) == kExitSetAside);
  CHECK(how_it_ended(board, false, kExitSetAside) == "done but for what was set aside");

  options.clock_seconds = [&] { return sound.clock; };
  options.tuner = 1;
  CHECK(quiet_tune(workload, options, sound, store).set_aside.empty());
  CHECK(board.count(SliceBoard::State::done) < board.size());
  CHECK(board.had_slices() == board.size());
  CHECK(beside_others(kExitSetAside, board) == kExitOk);
  CHECK(beside_others(kExitInternal, board) == kExitInternal);
  CHECK(how_it_ended(board, false, kExitOk) == "budget");
  CHECK(how_it_ended(board, false, kExitInternal) == "failed");
  CHECK(how_it_ended(board, true, kExitOk) == "interrupted");
  for (int i = 0; i < 2; ++i) board.finish(std::size_t(i), 1);
  CHECK(how_it_ended(board, false, kExitOk) == "done");
}
