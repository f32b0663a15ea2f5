// What the tuner makes of compilers and measuring processes that somebody else kills, and of memory that is gone:
// failures of the machine, which prove nothing of the candidate and are kept nowhere.
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <unistd.h>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <sstream>
#include <thread>

#include "db/store/store.hpp"
#include "kernels/families/plan_hash.hpp"
#include "runtime/compile/compiler.hpp"
#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/tuner/several_devices.hpp"
#include "tests/tuner/workers/drilled_evaluator.hpp"
#include "tuner/loop/tune.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tests;

namespace {

/// While it lives, every compiler of this process is killed as soon as it is seen.
class [[nodiscard]] NoMemoryForCompilers {
 public:
  NoMemoryForCompilers() : killer_([this] { kill_compilers(); }) {}
  ~NoMemoryForCompilers() {
    stop_ = true;
    killer_.join();
  }
  NoMemoryForCompilers(const NoMemoryForCompilers&) = delete;
  NoMemoryForCompilers& operator=(const NoMemoryForCompilers&) = delete;

 private:
  void kill_compilers() const {
    while (!stop_) {
      for (const pid_t child : children_of(::getpid())) {
        const std::string words = read_proc("/proc/" + std::to_string(child) + "/cmdline");
        if (contains(words, std::string("worker\0compile", 14))) ::kill(child, SIGKILL);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  std::atomic<bool> stop_{false};
  std::thread killer_;
};

db::Record record_of(const Evaluator& evaluator, test::DrillKind kind, const db::Outcome& outcome) {
  db::Record entry;
  entry.task = drill_problem();
  entry.config = test::drill_config(kind);
  entry.device = evaluator.device();
  entry.environment = evaluator.environment("drill");
  entry.plan_hash = plan_hash(entry.config, entry.task.problem(), entry.environment.compiler_options);
  entry.outcome = outcome;
  return entry;
}

db::Outcome timed(double us) {
  db::Timing timing;
  timing.median_us = us;
  timing.samples = 15;
  return {db::Status::ok, "", timing};
}

}  // namespace

TEST_CASE("a measuring process that is killed from outside again and again is the machine's failure") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  const db::Outcome killed = evaluate(*evaluator, test::kDrillOk, drill_problem(kKilledM));
  CHECK(killed.by_machine);
  CHECK(killed.message == "timing: the measuring process ended: killed by signal 9 (Killed)");
  const db::Outcome cramped = evaluate(*evaluator, test::kDrillOk, drill_problem(kNoMemoryM));
  CHECK(cramped.by_machine);
  CHECK(cramped.message == "the GPU has no memory left: timing: cuMemAlloc");
  CHECK_FALSE(evaluate(*evaluator, test::kDrillTooBig).by_machine);  // aborts
  CHECK(evaluate(*evaluator, test::kDrillOk).status == db::Status::ok);
}

TEST_CASE("a kernel whose compiler is killed from outside is not known to fail") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  std::ostringstream logged;
  const auto former = spdlog::default_logger();
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(logged)));
  {
    const NoMemoryForCompilers killing;
    const db::Outcome killed = evaluate(*evaluator, test::kDrillCompilerHang);
    CHECK(killed.by_machine);
    CHECK(killed.message == "the compiler ended: killed by signal 9 (Killed)");
    const std::string said = logged.str();
    CHECK(said.find("a compiler was killed by signal 9 (Killed)") != std::string::npos);
    CHECK(said.find("a compiler was killed") == said.rfind("a compiler was killed"));  // once
    CHECK(said.find(test::drill_config(test::kDrillCompilerHang).text()) != std::string::npos);
  }
  spdlog::set_default_logger(former);
  const KernelTarget target{{drill_problem().type, {}}, evaluator->limits()};
  CHECK_FALSE(store.find_build(runtime::kernel_key(test::drill_config(test::kDrillCompilerHang), target)));
  CHECK_FALSE(evaluate(*evaluator, test::kDrillCompilerCrash).by_machine);
}

TEST_CASE("a best whose compiler is killed in a final benchmark stays the best") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  CHECK(evaluate(*evaluator, test::kDrillOk).status == db::Status::ok);  // the one kernel that is at hand
  for (int kind = 0; kind < test::kDrillKinds; ++kind) {                 // as after an import
    const db::Outcome failed{db::Status::mismatch, "imported", std::nullopt};
    const bool right = kind == test::kDrillOk || kind == test::kDrillCompilerHang;
    store.record(
        record_of(*evaluator, test::DrillKind(kind), right ? timed(kind == test::kDrillOk ? 30 : 20) : failed));
  }
  TuneOptions options;
  options.strategy = "exhaustive";
  options.families = {"drill"};
  options.finalists = 2;
  const std::atomic<bool> never{false};
  const std::size_t before = store.records().size();
  const NoMemoryForCompilers killing;
  tune({"drill", {{drill_problem(), 1}}}, options, *evaluator, store, {}, never);
  const std::vector<db::Record> entries = store.records();
  CHECK(entries.size() == before + 1);  // the other finalist was timed again
  CHECK(db::test::bests_of(store).at(0).record.config == test::drill_config(test::kDrillCompilerHang));
}

TEST_CASE("after a worker says that it cannot go on, what is in flight can be dropped and others be measured") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  for (const auto kind : {test::kDrillOk, test::kDrillOkToo, test::kDrillCompilerHang}) {
    evaluator->submit({drill_problem(kBrokenM), test::drill_config(kind)}, std::nullopt);
  }
  CHECK_THROWS_AS(evaluator->next(), EvaluatorError);
  evaluator->drop_in_flight();
  CHECK(evaluator->in_flight() == 0);
  CHECK(evaluate(*evaluator, test::kDrillOk).status == db::Status::ok);
  CHECK(evaluate(*evaluator, test::kDrillOkToo).status == db::Status::ok);
}
