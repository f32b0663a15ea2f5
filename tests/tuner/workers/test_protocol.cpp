#include "tests/catch.hpp"
#include "tuner/workers/protocol.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

MeasureSession::Job job() {
  Problem problem = packed_problem({*find_type_pair("bf16f32"), {true, false}}, 100, 200, 300);
  problem.lda = 128;
  problem.beta = BetaClass::any;
  return {problem, Config("simt", {{"tile_m", 32}}), {std::byte{1}, std::byte{2}}, true, 12.5};
}

}  // namespace

TEST_CASE("requests and answers come back as they were sent") {
  const auto evaluated = evaluate_request(to_message(job()));
  REQUIRE(evaluated);
  CHECK(evaluated->task == job().task);
  CHECK(evaluated->config == job().config);
  CHECK(evaluated->cubin == job().cubin);
  CHECK(evaluated->suite_passed);
  CHECK(evaluated->incumbent_us == 12.5);
  CHECK_FALSE(evaluated->control);

  db::Timing timing;
  timing.median_us = 3.25;
  timing.samples = 9;
  timing.drift = 1.02;
  const MeasureSession::Result result{{db::Status::ok, "", timing}, true, false, Phase::timing};
  const auto answer = evaluate_answer(to_message(result));
  REQUIRE(answer);
  CHECK(answer->outcome.timing->median_us == 3.25);
  CHECK(answer->outcome.timing->samples == 9);
  CHECK(answer->outcome.timing->drift == 1.02);
  CHECK(answer->phase == Phase::timing);
  CHECK_FALSE(phase_note(to_message(result)));

  const auto compiled = compile_request(to_message(CompileRequest{job().config, "f16f32 TT", "sm_87"}));
  REQUIRE(compiled);
  CHECK(compiled->config == job().config);
  CHECK(compiled->signature == "f16f32 TT");
  CHECK(compiled->arch == "sm_87");

  const auto played =
      final_benchmark_request(to_message(FinalBenchmarkRequest{job().task, {job(), job()}, std::nullopt}));
  REQUIRE(played);
  REQUIRE(played->finalists.size() == 2);
  CHECK(played->finalists[1].cubin == job().cubin);
  CHECK_FALSE(played->control);
}

TEST_CASE("a control goes along with its kernel") {
  const MeasureSession::ControlKernel control{
      Config("simt", {{"tile_m", 64}}), {std::byte{3}, std::byte{4}, std::byte{5}}, 80.5};
  MeasureSession::Job beside = job();
  beside.control = control;
  const auto check = [&](const std::optional<MeasureSession::ControlKernel>& came) {
    REQUIRE(came);
    CHECK(came->config == control.config);
    CHECK(came->cubin == control.cubin);
    CHECK(came->us == 80.5);
  };
  const Message asked = to_message(beside);
  const auto evaluated = evaluate_request(asked);
  REQUIRE(evaluated);
  CHECK(evaluated->cubin == job().cubin);
  check(evaluated->control);
  const auto played = final_benchmark_request(to_message(FinalBenchmarkRequest{job().task, {job()}, control}));
  REQUIRE(played);
  CHECK(played->finalists.at(0).cubin == job().cubin);
  check(played->control);

  const auto spoilt = [&](const char* field, const nlohmann::json& value) {
    Message message = asked;
    message.json["control"][field] = value;
    return evaluate_request(message).has_value();
  };
  CHECK_FALSE(spoilt("us", 0));
  CHECK_FALSE(spoilt("us", "fast"));
  CHECK_FALSE(spoilt("config", "?"));
  CHECK_FALSE(spoilt("cubin_bytes", 2));
  CHECK_FALSE(spoilt("cubin_bytes", 4));
}

TEST_CASE("messages of another form are refused") {
  Message message = to_message(job());
  CHECK_FALSE(compile_request(message));
  CHECK_FALSE(final_benchmark_request(message));
  message.json["task"] = "f16f32 NN 1 2";
  CHECK_FALSE(evaluate_request(message));
  message.json.erase("task");
  CHECK_FALSE(evaluate_request(message));
  CHECK_FALSE(evaluate_answer({nlohmann::json::array(), {}}));
  CHECK_FALSE(evaluate_answer({"text", {}}));

  Message played = to_message(FinalBenchmarkRequest{job().task, {job()}, std::nullopt});
  played.json["finalists"][0]["cubin_bytes"] = 3;
  CHECK_FALSE(final_benchmark_request(played));
  played.json["finalists"][0]["cubin_bytes"] = 1;
  CHECK_FALSE(final_benchmark_request(played));
}

TEST_CASE("a time comes with ok and only with ok") {
  nlohmann::json outcome{{"status", "ok"}, {"message", ""}};
  CHECK_FALSE(outcome_from_json(outcome));
  outcome["timing"] = {{"median_us", nullptr}, {"spread", 0}, {"samples", 1}, {"clock_mhz", 0}, {"temperature_c", 0},
      {"power_w", 0}, {"drift", 1}};
  CHECK_FALSE(outcome_from_json(outcome));  // NaN travels as null
  outcome["timing"]["median_us"] = 1.5;
  CHECK(outcome_from_json(outcome));
  outcome["status"] = "mismatch";
  CHECK_FALSE(outcome_from_json(outcome));
  outcome["status"] = "splendid";
  CHECK_FALSE(outcome_from_json(outcome));
}

TEST_CASE("a failure of the machine is told as such") {
  db::Outcome outcome{db::Status::launch_failed, "the GPU has no memory left", std::nullopt};
  CHECK_FALSE(outcome_from_json(outcome_to_json(outcome))->by_machine);
  outcome.by_machine = true;
  CHECK(outcome_from_json(outcome_to_json(outcome))->by_machine);
}

TEST_CASE("a build without a cubin is never ok") {
  db::KernelBuild build;
  build.status = db::Status::ok;
  CHECK_FALSE(kernel_build(to_message(build), {}));
  build.cubin = {std::byte{1}};
  CHECK(kernel_build(to_message(build), {}));
  build.status = db::Status::compile_failed;
  CHECK_FALSE(kernel_build(to_message(build), {}));
}
