// The tuner with real compile workers and a measuring process that plays a device: each way in which a candidate can
// fail is an outcome, is remembered, and the run goes on.
#include <chrono>
#include <map>
#include <thread>

#include "db/store/store.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/driver/device.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/workers/drilled_evaluator.hpp"
#include "tuner/measure/timing_policy.hpp"
#include "tuner/verify/verifier.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tests;

TEST_CASE("every failing candidate has its status, and the run goes on") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  const std::map<test::DrillKind, db::Status> expected{{test::kDrillCompileError, db::Status::compile_failed},
      {test::kDrillTooBig, db::Status::device_fault}, {test::kDrillFault, db::Status::device_fault},
      {test::kDrillHang, db::Status::timed_out}, {test::kDrillWrong, db::Status::mismatch},
      {test::kDrillOk, db::Status::ok}, {test::kDrillOkToo, db::Status::ok}};
  for (const auto& [kind, status] : expected)
    evaluator->submit({drill_problem(), test::drill_config(kind)}, std::nullopt);
  CHECK(evaluator->in_flight() == expected.size());
  std::map<std::string, db::Outcome> outcomes;
  while (evaluator->in_flight() > 0) {
    const Evaluated evaluated = evaluator->next();
    outcomes[evaluated.candidate.config.text()] = evaluated.outcome;
  }
  for (const auto& [kind, status] : expected) {
    const db::Outcome& outcome = outcomes.at(test::drill_config(kind).text());
    INFO(test::drill_config(kind).text() << ": " << outcome.message);
    CHECK(db::name(outcome.status) == db::name(status));
    CHECK(outcome.timing.has_value() == (status == db::Status::ok));
  }
  CHECK(outcomes.at(test::drill_config(test::kDrillHang).text()).message == "suite: did not end within 0.7 s");
  CHECK(outcomes.at(test::drill_config(test::kDrillTooBig).text()).message ==
        "suite: the measuring process ended: killed by signal 6 (Aborted)");
}

TEST_CASE("what the suite found is remembered for other problems and for later runs") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  {
    const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
    CHECK(evaluate(*evaluator, test::kDrillOk).timing->median_us == Approx(101));  // with its suite
    CHECK(evaluate(*evaluator, test::kDrillOk, drill_problem(64)).timing->median_us == Approx(100));
    CHECK(evaluate(*evaluator, test::kDrillHang).status == db::Status::timed_out);
  }
  DeviceEvaluatorOptions patient = options_for();
  patient.time_limit = std::chrono::seconds(60);
  const auto evaluator = make_device_evaluator(store, patient, fictional_device());
  CHECK(evaluate(*evaluator, test::kDrillOk, drill_problem(96)).timing->median_us == Approx(100));
  const auto start = std::chrono::steady_clock::now();
  CHECK(evaluate(*evaluator, test::kDrillHang, drill_problem(96)).status == db::Status::timed_out);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));  // it would hang for 60
}

TEST_CASE("a candidate is compared with the best that is known when its turn comes") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  CHECK(evaluate(*evaluator, test::kDrillOk).timing->median_us == Approx(101));
  // The incumbent over 1000 is added, and 1000 for a control.
  CHECK(evaluate(*evaluator, test::kDrillOkToo).timing->median_us == Approx(1101.101));
}

TEST_CASE("long launches are timed beside one that is known, which a far faster one replaces") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  const auto time_of_next = [&](const std::optional<Incumbent>& incumbent, const Problem& problem = drill_problem()) {
    evaluator->submit({problem, test::drill_config(test::kDrillOk)}, incumbent);
    return evaluator->next().outcome.timing->median_us;
  };
  const Config known = test::drill_config(test::kDrillOkToo);
  CHECK(time_of_next(Incumbent{known, 90}) == Approx(101.09));  // no kernel of it is at hand
  CHECK(time_of_next(std::nullopt) == Approx(1100.09));         // beside the one before
  CHECK(time_of_next(std::nullopt, drill_problem(64)) == 100);  // of another problem
  CHECK(evaluate(*evaluator, test::kDrillOkToo).status == db::Status::ok);
  const auto played_beside = [&](const Incumbent& incumbent) {
    time_of_next(incumbent);
    const db::Outcome outcome = evaluator->final_benchmark(drill_problem(), std::vector<Config>{known}).front();
    const KernelTarget target{{drill_problem().type, {}}, evaluator->limits()};
    return outcome.timing->median_us - double(store.find_build(runtime::kernel_key(known, target))->cubin.size());
  };
  CHECK(played_beside({known, 85}) == Approx(101.09));  // the one timed first stays
  CHECK(played_beside({known, 75}) == Approx(75));
  CHECK(played_beside({known, 62}) == Approx(75));
  CHECK(played_beside({known, 40}) == 0);  // short launches are timed without one, also when
  CHECK(played_beside({known, 62}) == 0);  // a slower one comes again
}

TEST_CASE("a candidate that fails beside a control is tried again alone") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  CHECK(evaluate(*evaluator, test::kDrillFault).status == db::Status::device_fault);  // its kernel is in the store now
  evaluator->submit(
      {drill_problem(), test::drill_config(test::kDrillOk)}, Incumbent{test::drill_config(test::kDrillFault), 90});
  const db::Outcome outcome = evaluator->next().outcome;
  INFO(outcome.message);
  REQUIRE(outcome.status == db::Status::ok);
  CHECK(outcome.timing->median_us < 1000);  // the child adds 1000 for a control

  // The one that it failed beside is no control again, however fast.
  evaluator->submit(
      {drill_problem(), test::drill_config(test::kDrillOkToo)}, Incumbent{test::drill_config(test::kDrillFault), 60});
  CHECK(evaluator->next().outcome.timing->median_us > 1000);  // beside the first right one
}

TEST_CASE("what is announced is compiled meanwhile and kept, and its failures are nobody's") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  const std::vector<Config> initial_configs{test::drill_config(test::kDrillCompileError),
      test::drill_config(test::kDrillOk), Config("nothing", {}), test::drill_config(test::kDrillCompilerCrash)};
  CHECK(evaluator->most_announced() > initial_configs.size());
  evaluator->announce(drill_problem(64), initial_configs, {});
  CHECK(evaluator->in_flight() == 0);
  const KernelTarget target{{drill_problem().type, {}}, evaluator->limits()};
  const auto kept = [&](const Config& config) { return store.find_build(runtime::kernel_key(config, target)); };
  // The problem before goes on; its final benchmarks wait for other answers, and the compilers are looked after
  // meanwhile.
  const std::vector<Config> finalists{test::drill_config(test::kDrillOkToo), test::drill_config(test::kDrillOk)};
  CHECK(evaluate(*evaluator, test::kDrillOkToo).status == db::Status::ok);
  for (int i = 0; i < 100 && !(kept(initial_configs[0]) && kept(initial_configs[1]) && kept(initial_configs[3])); ++i) {
    CHECK(evaluator->final_benchmark(drill_problem(), finalists).at(1).status == db::Status::ok);
  }
  REQUIRE(kept(initial_configs[1]));
  CHECK(kept(initial_configs[1])->status == db::Status::ok);
  REQUIRE(kept(initial_configs[0]));
  CHECK(kept(initial_configs[0])->status == db::Status::compile_failed);
  CHECK(evaluate(*evaluator, test::kDrillOk, drill_problem(64)).status == db::Status::ok);
  CHECK(evaluate(*evaluator, test::kDrillCompileError, drill_problem(64)).status == db::Status::compile_failed);
}

TEST_CASE(
    "what is announced is still compiled when one more problem is, and of the problem whose turn it is its finalists") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  DeviceEvaluatorOptions options = options_for();
  options.compile_processes = 1;
  const auto evaluator = make_device_evaluator(store, options, fictional_device());
  const std::vector<Config> initial_configs{
      test::drill_config(test::kDrillOk), test::drill_config(test::kDrillCompileError)};
  const std::vector<Config> finalists{test::drill_config(test::kDrillOkToo)};
  evaluator->announce(drill_problem(64), initial_configs, finalists);  // the first is under way
  const std::vector<Config> of_next{test::drill_config(test::kDrillWrong)};
  evaluator->announce(drill_problem(72), of_next, {});
  evaluator->announce(drill_problem(80), {}, {});
  const KernelTarget target{{drill_problem().type, {}}, evaluator->limits()};
  const auto kept = [&](const Config& config) {
    return store.find_build(runtime::kernel_key(config, target)).has_value();
  };
  CHECK(evaluate(*evaluator, test::kDrillOk, drill_problem(64)).status == db::Status::ok);
  const std::vector<Config> playing{initial_configs[0]};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!kept(finalists[0]) && std::chrono::steady_clock::now() < deadline)
    evaluator->final_benchmark(drill_problem(64), playing);
  CHECK(kept(finalists[0]));
  CHECK_FALSE(kept(initial_configs[1]));
  while (!kept(of_next[0]) && std::chrono::steady_clock::now() < deadline)
    evaluator->final_benchmark(drill_problem(64), playing);
  CHECK(kept(of_next[0]));
}

TEST_CASE("a candidate joins its announced compilation, which the end of a run does not wait for") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  DeviceEvaluatorOptions options = options_for();
  options.compile_limit = std::chrono::seconds(4);
  const std::vector<Config> hang{test::drill_config(test::kDrillCompilerHang)};
  const auto start = std::chrono::steady_clock::now();
  {
    const auto evaluator = make_device_evaluator(store, options, fictional_device());
    evaluator->announce(drill_problem(), hang, {});
    evaluator->announce(drill_problem(64), hang, {});  // is under way
    std::this_thread::sleep_for(std::chrono::seconds(2));
    CHECK(evaluate(*evaluator, test::kDrillCompilerHang).status == db::Status::compile_failed);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(5500));  // compiled anew: 6 s
  }
  db::Store fresh = db::Store::in_memory();
  const auto before_end = std::chrono::steady_clock::now();
  make_device_evaluator(fresh, options_for(), fictional_device())->announce(drill_problem(), hang, {});
  CHECK(std::chrono::steady_clock::now() - before_end < std::chrono::seconds(5));
}

TEST_CASE("configs that need no compiler to be refused are illegal at once") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  const auto status_of = [&](const Problem& problem, const Config& config) {
    evaluator->submit({problem, config}, std::nullopt);
    return evaluator->next().outcome.status;
  };
  CHECK(status_of(drill_problem(), Config("nothing", {})) == db::Status::illegal);
  CHECK(status_of(drill_problem(), Config("drill", {{"kind", 99}})) == db::Status::illegal);
  CHECK(status_of(packed_problem({*find_type_pair("f16f32"), {}}, 8, 8, 8), test::drill_config(test::kDrillOk)) ==
        db::Status::illegal);
  CHECK(status_of(drill_problem(0), test::drill_config(test::kDrillOk)) == db::Status::illegal);
  CHECK_THROWS_AS(evaluator->next(), std::logic_error);
}

TEST_CASE("finalists are played off together, and one by one if one of them ends the process") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  const std::vector<Config> right{test::drill_config(test::kDrillOk), test::drill_config(test::kDrillOkToo)};
  const std::vector<db::Outcome> together = evaluator->final_benchmark(drill_problem(), right);
  REQUIRE(together.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    // The child's answer is the size of the kernel that reached it.
    const KernelTarget target{{drill_problem().type, {}}, evaluator->limits()};
    const auto build = store.find_build(runtime::kernel_key(right[i], target));
    REQUIRE(build);
    CHECK(together[i].timing->median_us == double(build->cubin.size()));
  }
  const KernelTarget drilled{{drill_problem().type, {}}, evaluator->limits()};
  for (const test::DrillKind proven : {test::kDrillFault, test::kDrillTooBig}) {
    store.record_proof({runtime::kernel_key(test::drill_config(proven), drilled), evaluator->device(),
        evaluator->environment("drill").driver_version, kSuiteVersion, {db::Status::ok, "", {}}});
  }
  // Two end the process that plays them off, of which one does it alone too.
  const std::vector<Config> mixed{test::drill_config(test::kDrillOk), test::drill_config(test::kDrillFault),
      test::drill_config(test::kDrillTooBig), test::drill_config(test::kDrillCompileError)};
  const std::vector<db::Outcome> outcomes = evaluator->final_benchmark(drill_problem(), mixed);
  for (const std::size_t alone : {0, 1}) {
    REQUIRE(outcomes.at(alone).timing);
    CHECK(outcomes.at(alone).timing->median_us == Approx(100));
  }
  CHECK(outcomes.at(2).status == db::Status::device_fault);
  CHECK(outcomes.at(3).status == db::Status::compile_failed);
  CHECK(evaluate(*evaluator, test::kDrillOkToo).status == db::Status::ok);
}

TEST_CASE("a finalist without a proof of today's suite is proven before it is played off") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  const KernelTarget target{{drill_problem().type, {}}, evaluator->limits()};
  const std::string driver = evaluator->environment("drill").driver_version;
  const db::KernelKey wrong = runtime::kernel_key(test::drill_config(test::kDrillWrong), target);
  store.record_proof({wrong, evaluator->device(), driver, "suite-0", {db::Status::ok, "", {}}});
  const std::vector<Config> finalists{test::drill_config(test::kDrillOk), test::drill_config(test::kDrillWrong)};
  const std::vector<db::Outcome> outcomes = evaluator->final_benchmark(drill_problem(), finalists);
  CHECK(outcomes.at(0).status == db::Status::ok);
  CHECK(outcomes.at(1).status == db::Status::mismatch);
  CHECK(store.find_proof(wrong, evaluator->device(), driver, kSuiteVersion)->status == db::Status::mismatch);
  const db::KernelKey right = runtime::kernel_key(test::drill_config(test::kDrillOk), target);
  CHECK(store.find_proof(right, evaluator->device(), driver, kSuiteVersion)->status == db::Status::ok);
}

TEST_CASE("a measuring process that does not start ends the run with its reason") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(7), fictional_device());
  evaluator->submit({drill_problem(), test::drill_config(test::kDrillOk)}, std::nullopt);
  try {
    evaluator->next();
    FAIL("next() should have thrown");
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()) == "the measuring process did not start, tried 3 times: there is no device 7");
  }
}

TEST_CASE("the environment holds everything that records rest on") {
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  const db::Environment environment = evaluator->environment("simt");
  CHECK(environment.compiler_options.find("sm_87") != std::string::npos);
  CHECK(environment.nvrtc_version == runtime::nvrtc_version());
  CHECK(environment.driver_version == "1.0");
  CHECK(environment.measuring_policy == kMeasuringPolicy);
  CHECK(evaluator->device().name == "Fictional");
}

TEST_CASE("a device that runs as another architecture compiles PTX, and its kernels and proofs are its own") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  runtime::DeviceInfo hopper = fictional_device();
  hopper.limits = *limits_for_arch("sm_90a");
  hopper.identity.sm = 90;
  DeviceEvaluatorOptions options = options_for();
  options.as = "sm_87";
  const auto as = make_device_evaluator(store, options, runtime::device_as(hopper, options.as));
  CHECK(as->device().name == "Fictional as sm_87");
  CHECK(as->limits().smem_per_block_bytes == 163 * 1024);
  CHECK(as->environment("simt").compiler_options.find("compute_87") != std::string::npos);
  CHECK(evaluate(*as, test::kDrillOk).timing->median_us == Approx(101));  // with its suite
  CHECK(evaluate(*as, test::kDrillWrong).status == db::Status::mismatch);
  CHECK(evaluate(*as, test::kDrillOk, drill_problem(64)).timing->median_us == Approx(100));

  const KernelTarget target{{drill_problem().type, {}}, as->limits()};
  const auto build = store.find_build(runtime::kernel_key(test::drill_config(test::kDrillOk), target));
  REQUIRE(build);
  CHECK(
      std::string_view(reinterpret_cast<const char*>(build->cubin.data()), build->cubin.size()).find(".target sm_87") !=
      std::string_view::npos);
  for (const runtime::DeviceInfo& real : {hopper, fictional_device()}) {
    const KernelTarget own{{drill_problem().type, {}}, real.limits};
    CHECK_FALSE(store.find_build(runtime::kernel_key(test::drill_config(test::kDrillOk), own)));
    const auto itself = make_device_evaluator(store, options_for(), real);
    CHECK(evaluate(*itself, test::kDrillOk, drill_problem(96)).timing->median_us ==
          Approx(101));  // its suite is not spared
  }
}
