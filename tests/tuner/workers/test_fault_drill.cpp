// The fault drill without a GPU: a tuner, its compilers and its measuring process, over kernels that fail in every way,
// killed at random moments and on a full disk. What was committed stays, the database is sound, and the end is the
// right best.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>

#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/long_tests.hpp"
#include "tests/tuner/drill_tuner.hpp"
#include "tests/tuner/several_devices.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

class DrillTuner {
 public:
  DrillTuner(const std::filesystem::path& database, int problems, int file_bytes = 0) {
    const std::string count = std::to_string(problems), bytes = std::to_string(file_bytes);
    pid_ = ::fork();
    if (pid_ != 0) return;
    for (std::FILE* const file : {stdout, stderr}) {  // what dies here dies on purpose
      if (std::freopen("/dev/null", "w", file) == nullptr) ::_exit(126);
    }
    ::execl(
        TILESMITH_TUNER_CHILD, TILESMITH_TUNER_CHILD, "tune", database.c_str(), count.c_str(), bytes.c_str(), nullptr);
    ::_exit(127);
  }
  ~DrillTuner() {
    if (pid_ > 0) kill();
  }
  DrillTuner(const DrillTuner&) = delete;
  DrillTuner& operator=(const DrillTuner&) = delete;

  pid_t pid() const { return pid_; }
  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }
  /// Its wait status.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  bool ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, id_t(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
  }

 private:
  pid_t pid_ = -1;
};

/// Of the tuner's children those that do this.
std::vector<pid_t> workers_of(pid_t tuner, const std::string& kind) {
  std::vector<pid_t> found;
  for (const pid_t child : children_of(tuner)) {
    std::string words = read_proc("/proc/" + std::to_string(child) + "/cmdline");
    std::replace(words.begin(), words.end(), '\0', ' ');
    if (contains(words, "worker " + kind)) found.push_back(child);
  }
  return found;
}

/// Nothing that was seen before is missing, and the database is sound. Adds what is there to what was seen.
void check_kept(const std::filesystem::path& database, std::set<std::int64_t>& seen) {
  const db::Store store = db::Store::open(database);
  REQUIRE(store.integrity_error() == "");
  std::set<std::int64_t> stored;
  for (const db::Record& entry : store.records()) stored.insert(entry.id);
  REQUIRE(std::includes(stored.begin(), stored.end(), seen.begin(), seen.end()));
  seen = std::move(stored);
}

std::size_t stored_in(const std::filesystem::path& database) { return db::Store::open(database).records().size(); }

/// Each problem has each candidate's outcome once, and the best is the one that is.
void check_complete(const std::filesystem::path& database, int problems) {
  const db::Store store = db::Store::open_read_only(database);
  std::map<std::string, std::map<int, std::vector<db::Outcome>>> outcomes;
  for (const db::Record& entry : store.records()) {
    outcomes[text(entry.task.problem())][int(entry.config.at("kind"))].push_back(entry.outcome);
  }
  CHECK(outcomes.size() == std::size_t(problems));
  const std::map<int, db::Status> expected{
      {test::kDrillOk, db::Status::ok},
      {test::kDrillOkToo, db::Status::ok},
      {test::kDrillCompileError, db::Status::compile_failed},
      {test::kDrillTooBig, db::Status::device_fault},
      {test::kDrillFault, db::Status::device_fault},
      {test::kDrillHang, db::Status::timed_out},
      {test::kDrillWrong, db::Status::mismatch},
      {test::kDrillCompilerCrash, db::Status::compile_failed},
      {test::kDrillCompilerHang, db::Status::compile_failed},
      {test::kDrillLaunchRefused, db::Status::launch_failed},
  };
  for (const auto& [problem, of_problem] : outcomes) {
    for (const auto& [kind, status] : expected) {
      INFO(problem << ", kind " << kind);
      REQUIRE(of_problem.count(kind) == 1);
      REQUIRE(of_problem.at(kind).size() == 1);
      INFO(of_problem.at(kind).front().message);
      CHECK(db::name(of_problem.at(kind).front().status) == db::name(status));
    }
  }
  const std::vector<db::JudgedBest> bests = db::test::bests_of(store);
  CHECK(bests.size() == std::size_t(problems));
  for (const db::JudgedBest& best : bests) CHECK(best.record.config == test::drill_config(test::kDrillOk));
}

}  // namespace

TEST_CASE(
    "forty kills, or two hundred, of tuner, compilers and measuring process lose nothing, and the best is found") {
  const bool many = long_tests();
  const int problems = many ? 260 : 80, most_kills = many ? 200 : 40, early_kills = many ? 20 : 8;
  const test::DrillEnabled drill;
  const TempFolder folder;
  const std::filesystem::path database = folder / "drill.db";
  std::mt19937 random(11);
  const auto between = [&](int least, int most) { return std::uniform_int_distribution<>(least, most)(random); };
  std::set<std::int64_t> seen;
  std::map<std::string, int> kills;
  std::map<std::string, Clock::time_point> last_kill;
  int killed = 0;
  auto tuner = std::make_unique<DrillTuner>(database, problems);
  // A job whose process is killed twice from outside is given up for that run: `pause` is longer than one takes.
  const auto kill_one = [&](const std::string& kind, std::chrono::milliseconds pause) {
    if (kind == "tune") {
      tuner->kill();
      check_kept(database, seen);
      tuner = std::make_unique<DrillTuner>(database, problems);
    } else {
      const std::vector<pid_t> workers = workers_of(tuner->pid(), kind);
      if (workers.empty() || Clock::now() - last_kill[kind] < pause) return;
      last_kill[kind] = Clock::now();
      ::kill(workers[std::size_t(between(0, int(workers.size()) - 1))], SIGKILL);
    }
    ++killed;
    ++kills[kind];
  };

  // While the first problem's kernels are compiled and found out to hang, to crash or to be wrong.
  while (killed < early_kills || kills["compile"] == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(between(20, 400)));
    const int which = kills["compile"] == 0 ? 0 : between(0, 3);
    if (which == 0) kill_one("compile", kDrillTunerCompileLimit + 1000ms);
    if (which == 1) kill_one("measure", kDrillTunerTimeLimit + 1000ms);
    if (which > 1) kill_one("tune", 0ms);
  }
  REQUIRE(await([&] { return tuner->ended() || stored_in(database) > test::kDrillKinds; }, 60s));
  // While all others are timed.
  while (killed < most_kills) {
    std::this_thread::sleep_for(std::chrono::milliseconds(between(3, 60)));
    REQUIRE_FALSE(tuner->ended());
    if (between(0, 1) == 0) kill_one("measure", 400ms);
    else kill_one("tune", 0ms);
  }
  CHECK(tuner->wait() == 0);
  check_kept(database, seen);
  // A slow host may yet have had one killed twice: it is left to the next run.
  CHECK(DrillTuner(database, problems).wait() == 0);
  check_kept(database, seen);
  INFO(kills["tune"] << " kills of the tuner, " << kills["measure"] << " of the measuring process, " << kills["compile"]
                     << " of compilers");
  CHECK(kills["tune"] > 0);
  CHECK(kills["measure"] > 0);
  CHECK(kills["compile"] > 0);
  check_complete(database, problems);
}

TEST_CASE("on a full disk the tuner ends with the reason, and goes on when there is room") {
  constexpr int kProblems = 60;
  const test::DrillEnabled drill;
  const TempFolder folder;
  const std::filesystem::path database = folder / "drill.db";
  std::set<std::int64_t> seen;
  {
    DrillTuner begun(database, kProblems);
    REQUIRE(await([&] { return std::filesystem::exists(database) && stored_in(database) > 20; }));
    begun.kill();
  }
  check_kept(database, seen);
  for (const int more : {0, 4096, 30000}) {
    const std::filesystem::path log = database.string() + "-wal";
    const auto largest = std::max(
        std::filesystem::file_size(database), std::filesystem::exists(log) ? std::filesystem::file_size(log) : 0);
    DrillTuner cramped(database, kProblems, int(largest) + more);
    const int status = cramped.wait();
    INFO(more << " bytes more: " << status);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == kDrillTunerFailed);
    check_kept(database, seen);
  }
  DrillTuner roomy(database, kProblems);
  CHECK(roomy.wait() == 0);
  check_kept(database, seen);
  check_complete(database, kProblems);
}
