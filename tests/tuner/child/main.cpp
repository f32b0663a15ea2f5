// What the process tests start: compile workers with the drill family, a measuring process without a device whose
// behaviour follows from the drill's kind, a tuner over both, and children that misbehave on the socket.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/gpu/drill_family.hpp"
#include "tests/tuner/drill_tuner.hpp"
#include "tests/tuner/fictional_device.hpp"
#include "tuner/workers/phase_clock.hpp"
#include "tuner/workers/process.hpp"
#include "tuner/workers/protocol.hpp"
#include "tuner/workers/worker.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

constexpr const char* kNoSuchDevice = "7";

int echo() {
  return serve([](const Message& message) { return message; });
}

/// Waits for a request, so that the tuner has seen it alive.
void await_request() {
  Connection tuner(kWorkerSocket);
  tuner.receive();
}

int corrupt() {
  const unsigned char frame[8] = {0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0};
  return ::write(kWorkerSocket, frame, sizeof(frame)) == sizeof(frame) ? 0 : 1;
}

int no_json() {
  const unsigned char frame[12] = {4, 0, 0, 0, 0, 0, 0, 0, '{', '{', '{', '{'};
  return ::write(kWorkerSocket, frame, sizeof(frame)) == sizeof(frame) ? 0 : 1;
}

[[noreturn]] void never_end() {
  for (;;) ::sleep(1);
}

db::Outcome timed(double median_us) {
  db::Timing timing;
  timing.median_us = median_us;
  timing.samples = 15;
  return {db::Status::ok, "", timing};
}

/// Tells how many there were. The one that passes takes long enough for another candidate to be submitted meanwhile.
std::string disturbance_of(const Problem& problem) {
  static int disturbed = 0;
  const bool passes = problem.m == tests::kDisturbedOnceM && disturbed == 0;
  if (passes) ::usleep(tests::kDisturbedOnceUs);
  if (!passes && problem.m != tests::kDisturbedM) return "";
  return "disturbed: throttled, " + std::to_string(++disturbed);
}

MeasureSession::Result measured(Connection& tuner, const MeasureSession::Job& job, PhaseClock& clock) {
  const auto enter = [&](Phase phase) {
    clock.enter(phase, false);
    tuner.send(to_message(PhaseNote{phase, false}));
  };
  enter(Phase::loading);
  const int kind = job.config.at("kind");
  if (!job.suite_passed) {
    enter(Phase::suite);
    if (kind == test::kDrillHang) never_end();
    if (kind == test::kDrillTooBig) std::abort();
    if (kind == test::kDrillWrong)
      return {{db::Status::mismatch, "suite: C[0,0] is wrong", {}}, false, false, Phase::suite};
    if (kind == test::kDrillLaunchRefused) {
      return {{db::Status::launch_failed, "suite: launch failed", {}}, false, false, Phase::suite};
    }
    if (kind == test::kDrillFault) {
      return {{db::Status::device_fault, "suite: illegal address", {}}, false, true, Phase::suite};
    }
  }
  enter(Phase::timing);
  if (kind == test::kDrillTooBig) std::abort();
  if (job.task.problem().m == tests::kKilledM) std::raise(SIGKILL);
  if (job.task.problem().m == tests::kNoMemoryM) {
    db::Outcome outcome{db::Status::launch_failed, "the GPU has no memory left: timing: cuMemAlloc", std::nullopt};
    outcome.by_machine = true;
    return {outcome, true, false, Phase::timing};
  }
  if (job.control && job.control->config.at("kind") == test::kDrillFault) std::abort();
  if (job.task.problem().n == tests::kDrillTunerN) {  // long enough to be killed in, and faster by kind
    ::usleep(tests::kDrillTunerTimingUs);
    return {timed(kind == test::kDrillOk ? 20 : 30), true, false, Phase::timing};
  }
  // The time says whether the suite was repeated, what the incumbent was, and whether there was a control.
  const double for_control = job.control && !job.control->cubin.empty() ? 1000 : 0;
  db::Outcome outcome = timed(100 + (job.suite_passed ? 0 : 1) + job.incumbent_us / 1000 + for_control);
  outcome.message = disturbance_of(job.task.problem());
  return {std::move(outcome), true, false, Phase::timing};
}

/// What the vendor's library comes to on a problem.
std::optional<VendorAnswer> vendor_answer(const Problem& problem) {
  if (problem.m == tests::kVendorCrashM) std::abort();
  if (problem.m == tests::kVendorHangM) never_end();
  VendorAnswer answer;
  if (problem.m == tests::kVendorMissingM) {
    answer.unavailable = "cuBLASLt is not here: tried libcublasLt.so.13";
    return answer;
  }
  answer.times.problem = problem;
  answer.times.device = tests::fictional_device().identity;
  answer.times.vendor_version = "13.1.0";
  answer.times.message = problem.m == tests::kVendorRefusesM ? "cuBLASLt offers no algorithm" : "";
  if (!answer.times.message.empty()) return answer;
  answer.times.first = {70, 0.01, "#0"};
  answer.times.best = {60, 0.01, "#1"};
  answer.times.offered = answer.times.timed = problem.m == tests::kVendorNonsenseM ? -1 : 2;
  answer.times.samples = 15;
  return answer;
}

/// `given_clock_probe_us`: 0 for the first one
int measure_without_device(double given_clock_probe_us) {
  Connection tuner(kWorkerSocket);
  tuner.send({{{"ready", true}, {"clock_probe_us", given_clock_probe_us > 0 ? given_clock_probe_us : 40}}, {}});
  while (const auto message = tuner.receive()) {
    if (const auto job = evaluate_request(*message)) {
      PhaseClock clock;
      if (job->task.problem().m == tests::kBrokenM) {
        tuner.send({{{"fatal", "the reference is wrong"}}, {}});
        return 3;
      }
      const MeasureSession::Result result = measured(tuner, *job, clock);
      Message answer = to_message(result);
      answer.json["took"] = clock.text();
      answer.json["clock_probe_us"] = 39;
      answer.json["given_clock_probe_us"] = given_clock_probe_us;
      tuner.send(answer);
      if (result.context_lost) return 3;
    } else if (const auto request = final_benchmark_request(*message)) {
      FinalBenchmarkAnswer answer;
      for (const MeasureSession::Job& finalist : request->finalists) {
        const int kind = finalist.config.at("kind");
        if (kind == test::kDrillFault || kind == test::kDrillTooBig) std::abort();
        answer.outcomes.push_back(timed(double(finalist.cubin.size()) + (request->control ? request->control->us : 0)));
      }
      if (request->vendor) answer.vendor = vendor_answer(request->task.problem());
      tuner.send(to_message(answer));
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "echo") return echo();
  if (mode == "exit3") return await_request(), 3;
  if (mode == "crash") await_request(), std::abort();
  if (mode == "hang") never_end();
  if (mode == "corrupt") return corrupt();
  if (mode == "no_json") return no_json();
  const test::DrillEnabled drill;
  if (mode == "tune" && argc > 4) return tests::tune_drill(argv[2], std::atoi(argv[3]), std::atoi(argv[4]));
  if (mode == "worker" && argc > 4 && std::string_view(argv[2]) == "measure") {
    if (std::string_view(argv[4]) == kNoSuchDevice) {
      Connection(kWorkerSocket).send({{{"fatal", "there is no device 7"}}, {}});
      return 3;
    }
    return measure_without_device(argc > 6 ? std::atof(argv[6]) : 0);
  }
  return worker_main(argc, argv);
}
