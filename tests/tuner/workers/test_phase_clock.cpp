// What the log tells of the time that candidates and final benchmarks take.
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <iterator>
#include <memory>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

#include "db/store/store.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/workers/drilled_evaluator.hpp"
#include "tuner/workers/phase_clock.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tests;

TEST_CASE("phases are timed one after the other") {
  PhaseClock clock;
  CHECK(clock.text().empty());
  clock.enter(Phase::loading, false);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  clock.enter(Phase::verification, true);
  clock.enter(Phase::timing, true);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::smatch took;
  const std::string text = clock.text();
  INFO(text);
  REQUIRE(std::regex_match(text, took,
      std::regex("loading ([0-9.]+) ms, verification of a new problem [0-9.]+ ms, "
                 "timing of a new problem ([0-9.]+) ms")));
  CHECK(std::stod(took[1]) >= 30);
  CHECK(std::stod(took[2]) >= 20);
}

TEST_CASE("the log of every decision tells what a candidate's phases and a final benchmark took") {
  const test::DrillEnabled drill;
  std::ostringstream lines;
  struct Restored {  // also where something throws
    std::shared_ptr<spdlog::logger> before = spdlog::default_logger();
    ~Restored() { spdlog::set_default_logger(before); }
  };
  {
    const Restored restored;
    const auto logger = std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines));
    logger->set_level(spdlog::level::debug);
    spdlog::set_default_logger(logger);
    db::Store store = db::Store::in_memory();
    const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
    evaluate(*evaluator, test::kDrillOk);
    evaluate(*evaluator, test::kDrillOk, drill_problem(64));
    const std::vector<Config> finalists{test::drill_config(test::kDrillOk), test::drill_config(test::kDrillOkToo)};
    evaluate(*evaluator, test::kDrillOkToo);
    evaluator->final_benchmark(drill_problem(64), finalists);
  }
  INFO(lines.str());
  const std::string text = lines.str();
  const std::regex with_suite("measured: loading [0-9.]+ ms, suite [0-9.]+ ms, timing [0-9.]+ ms\n");
  const std::regex without("measured: loading [0-9.]+ ms, timing [0-9.]+ ms\n");
  const auto count = [&](const std::regex& line) {
    return std::distance(std::sregex_iterator(text.begin(), text.end(), line), std::sregex_iterator());
  };
  CHECK(count(with_suite) == 2);
  CHECK(count(without) == 1);
  CHECK(count(std::regex(": played off 2 in 15 rounds: kernels [0-9.]+ ms, final benchmark [0-9.]+ ms\n")) == 1);
}
