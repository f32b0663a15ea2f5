// Signals that ask a command to end: one wish may come as several signals.
#include <chrono>
#include <functional>
#include <thread>

#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tuner/cli/output/signals.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

/// How a process ends that does this while signals are taken: its exit status.
int ending_of(const std::function<int(const tuner::StopOnSignal&)>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_DFL);
    const tuner::StopOnSignal signals;
    ::_exit(work(signals));
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("signals within a second are one wish, and a later one ends at once") {
  using namespace std::chrono_literals;
  for (const int first : {SIGINT, SIGTERM, SIGHUP}) {
    for (const int second : {SIGINT, SIGTERM, SIGHUP}) {
      CHECK(ending_of([&](const tuner::StopOnSignal& signals) {
        ::raise(first);
        if (!signals.stop()) return 1;
        ::raise(second);
        ::raise(second);
        return signals.exit_status();
      }) == 128 + first);
    }
  }
  CHECK(ending_of([](const tuner::StopOnSignal&) {
    ::raise(SIGTERM);
    std::this_thread::sleep_for(1050ms);
    ::raise(SIGINT);
    return 1;
  }) == 128 + SIGINT);
}

TEST_CASE("a tuner or several to which a signal comes twice at a time end cleanly") {
  std::vector<Problem> problems;
  std::string workload;
  for (int i = 1; i <= 8; ++i) problems.push_back(packed_problem({*find_type_pair("f16f32"), {}}, 64 * i, 256, 256));
  for (const Problem& problem : problems) workload += text(problem) + "\n";
  db::Store recording = db::Store::in_memory();
  for (const db::Record& entry : made_record(problems, 400)) recording.record(entry);
  for (const std::vector<std::string>& devices :
      {std::vector<std::string>{}, {"--replay", "r.jsonl", "--device", "all"}}) {
    const TempFolder folder;
    db::save_recording(recording, {}, folder / "r.jsonl");
    write_file(folder / "w.txt", workload);
    std::vector<std::string> arguments{"tune", "--workload", "w.txt", "--replay", "r.jsonl", "--strategy", "exhaustive",
        "--family", "simt", "--verbose", "--db", "t.db"};
    arguments.insert(arguments.end(), devices.begin(), devices.end());
    Started started(folder, arguments);
    for (int i = 0; i < 1000 && !contains(started.err_so_far(), " us ±"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    started.signal(SIGTERM);
    started.signal(SIGINT);
    const Finished result = started.wait();
    INFO(result.err.substr(result.err.size() > 2000 ? result.err.size() - 2000 : 0));
    CHECK((
        result.status == 143 || result.status == 130));  // which of two that are pending is delivered first is not said
    CHECK(contains(result.err, "ended: interrupted"));
    CHECK_FALSE(contains(result.err, "ended at once"));
    CHECK(contains(result.out, "exact"));
  }
}
