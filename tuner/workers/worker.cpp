// What `tilesmith worker compile` and `tilesmith worker measure --device N [--as ARCH]` do. Both take the families of
// one's own (family_arguments.hpp).
#include "tuner/workers/worker.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/compile/compiler.hpp"
#include "runtime/driver/device.hpp"
#include "tuner/workers/family_arguments.hpp"
#include "tuner/workers/measure_session.hpp"
#include "tuner/workers/phase_clock.hpp"
#include "tuner/workers/process.hpp"
#include "tuner/workers/protocol.hpp"

namespace tilesmith::tuner {
namespace {

constexpr int kBadUsage = 2;
constexpr int kEndedByFault = 3;
constexpr int kNiceness = 5;        // compilers give way to the tuner and the measuring process
constexpr int kKilledFirst = 1000;  // of oom_score_adj, the most: they go before them where memory runs out

Message compile_answer(const Message& message) {
  db::KernelBuild build;
  const std::optional<CompileRequest> request = compile_request(message);
  const std::optional<DeviceLimits> limits = request ? limits_for_target(request->arch) : std::nullopt;
  if (!request) {
    build.message = "the compile request is malformed";
  } else if (!limits) {
    build.message =
        fmt::format("architecture '{}' is not supported, expected one of {}", request->arch, supported_archs());
  } else {
    try {
      build = runtime::compile_for_proof(request->config, request->signature, *limits);
    } catch (const std::bad_alloc&) {
      return {{{"out_of_memory", true}}, {}};
    } catch (const std::exception& error) {
      return {{{"fatal", error.what()}}, {}};  // no refusal of this kernel: the compiler itself is not usable
    }
  }
  return to_message(build);
}

int compile_main() {
  std::ofstream("/proc/self/oom_score_adj") << kKilledFirst << std::flush;  // which every process may raise
  [[maybe_unused]] const int niceness = ::nice(kNiceness);
  return serve(compile_answer);
}

/// Ends without unwinding: after a lost context every release of a device resource would fail, or hang.
[[noreturn]] void end_after_fault() { ::_exit(kEndedByFault); }

/// `tuner`: the tuner, or another command that measures.
void measure_loop(MeasureSession& session, Connection& tuner) {
  while (const std::optional<Message> message = tuner.receive()) {
    if (const auto job = evaluate_request(*message)) {
      PhaseClock clock;
      const auto note = [&](Phase phase, bool new_problem) {
        clock.enter(phase, new_problem);
        tuner.send(to_message(PhaseNote{phase, new_problem}));
      };
      Message answer = to_message(session.evaluate(*job, note));
      answer.json["took"] = clock.text();
      answer.json["clock_probe_us"] = session.clock_probe_us();
      if (!tuner.send(answer)) return;
    } else if (const auto request = final_benchmark_request(*message)) {
      FinalBenchmarkAnswer answer;
      const auto note = [&](Phase phase, bool new_problem) { tuner.send(to_message(PhaseNote{phase, new_problem})); };
      answer.outcomes = session.final_benchmark(
          request->task, request->finalists, request->control, request->vendor, &answer.vendor, note);
      answer.context_lost = session.context_lost();
      if (!tuner.send(to_message(answer))) return;
    } else {
      tuner.send({{{"fatal", "the request is malformed"}}, {}});
      return;
    }
    if (session.context_lost()) end_after_fault();
  }
}

int measure_main(int device, std::string_view as, double clock_probe_us) {
  Connection tuner(kWorkerSocket);
  try {
    const runtime::Context context(device, as);
    TimingPolicy policy;
    policy.clock_probe_start_us = clock_probe_us;
    MeasureSession session(context, policy);
    if (tuner.send({{{"ready", true}, {"clock_probe_us", session.clock_probe_us()}}, {}})) {
      measure_loop(session, tuner);
    }
    return 0;
  } catch (const std::exception& error) {
    tuner.send({{{"fatal", error.what()}}, {}});
    end_after_fault();
  }
}

template <typename Number>
bool parse_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

/// Tells the tuner instead of the first answer.
int fatal(const std::string& what) {
  Connection(kWorkerSocket).send({{{"fatal", what}}, {}});
  return kBadUsage;
}

int bad_usage(const std::string& what) {
  std::fprintf(stderr,
      "worker: %s; expected 'worker compile' or 'worker measure --device N [--as ARCH] [--clock-probe-us T]', "
      "either with [--family-dir FOLDER]\n",
      what.c_str());
  return kBadUsage;
}

}  // namespace

int worker_main(int argc, const char* const* argv) {
  // The program's own arguments, or what follows its name, or what follows "worker": all are understood.
  int at = 0;
  for (int i = 0; i < argc && i < 2; ++i) {
    if (std::string_view(argv[i]) == "worker") at = i + 1;
  }
  const std::string_view kind = at < argc ? argv[at] : "";
  int device = 0;
  std::string_view as;
  double clock_probe_us = 0;
  FamilyArguments families;
  for (int i = at + 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--device" && parse_number(value, device) && device >= 0) continue;
    if (option == "--as" && limits_for_arch(value)) {
      as = value;
      continue;
    }
    if (option == "--clock-probe-us" && parse_number(value, clock_probe_us) && clock_probe_us >= 0) continue;
    if (families.take(option, value)) continue;
    return bad_usage(fmt::format("'{} {}' is no option", option, value));
  }
  spdlog::set_level(spdlog::level::warn);
  if (const std::string wrong = families.load(); !wrong.empty()) return fatal(wrong);
  if (kind == "compile") return compile_main();
  if (kind == "measure") return measure_main(device, as, clock_probe_us);
  return bad_usage(fmt::format("'{}' is no kind of worker", kind));
}

}  // namespace tilesmith::tuner
