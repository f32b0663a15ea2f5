// Who may tune what: locks of one process, of several at once, and of those that were killed.
#include "db/store/task_locks.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "tests/catch.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

Problem problem_of(int m) { return sample_problem("f16f32 NN " + std::to_string(m) + " 64 64"); }

/// A process that ends by itself with status 0, or 1 if `work` throws or says no.
pid_t start(const std::function<bool()>& work) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  bool good = false;
  try {
    good = work();
  } catch (const std::exception& error) {
    ::fprintf(stderr, "locker: %s\n", error.what());
  }
  ::_exit(good ? 0 : 1);
}

int status_of(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

/// A process that holds a lock until it is killed; returns once it has it.
pid_t start_holder(const std::filesystem::path& path, const Problem& problem) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t pid = start([&] {
    const Store store = Store::open(path);
    const std::optional<TaskLock> lock = TaskLocks(store).take(sample_device(), problem);
    if (!lock || ::write(ends[1], "x", 1) != 1) return false;
    for (;;) ::pause();
  });
  ::close(ends[1]);
  char told = 0;
  REQUIRE(::read(ends[0], &told, 1) == 1);
  ::close(ends[0]);
  return pid;
}

constexpr int kProblems = 20;
using Counters = std::array<std::atomic<int>, kProblems>;

/// Counters that processes share.
struct SharedCounters {
  void* memory = ::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ~SharedCounters() { ::munmap(memory, sizeof(Counters)); }
  Counters& get() { return *static_cast<Counters*>(memory); }
};

}  // namespace

TEST_CASE("a problem is locked once at a time, on each kind of device, until the lock ends") {
  TemporaryFolder folder;
  const Store store = Store::open(folder / "a.db");
  const TaskLocks locks(store);
  std::optional<TaskLock> lock = locks.take(sample_device(), problem_of(1));
  REQUIRE(lock);
  CHECK_FALSE(locks.take(sample_device(), problem_of(1)));  // its owner too would have it twice
  CHECK(locks.take(sample_device(), problem_of(2)));
  CHECK(locks.take(other_device(), problem_of(1)));
  const TaskLock moved = std::move(*lock);
  lock.reset();
  CHECK_FALSE(locks.take(sample_device(), problem_of(1)));
  std::optional<TaskLock> other = locks.take("GPU 0000:01:00.0");
  CHECK_FALSE(locks.take("GPU 0000:01:00.0"));
  other.reset();
  CHECK(locks.take("GPU 0000:01:00.0"));
}

TEST_CASE("a lock that another takes the place of is dropped") {
  TemporaryFolder folder;
  const Store store = Store::open(folder / "a.db");
  const TaskLocks locks(store);
  std::optional<TaskLock> held = locks.take(sample_device(), problem_of(1));
  held = locks.take(sample_device(), problem_of(2));
  CHECK(locks.take(sample_device(), problem_of(1)));
  CHECK_FALSE(locks.take(sample_device(), problem_of(2)));
}

TEST_CASE("databases do not share locks, and one in memory shares them with nobody") {
  TemporaryFolder folder;
  const Store one = Store::open(folder / "a.db"), two = Store::open(folder / "b.db");
  const std::optional<TaskLock> lock = TaskLocks(one).take(sample_device(), problem_of(1));
  CHECK(TaskLocks(two).take(sample_device(), problem_of(1)));
  CHECK_FALSE(TaskLocks(Store::open(folder / "a.db")).take(sample_device(), problem_of(1)));
  const Store memory = Store::in_memory();
  CHECK(TaskLocks(memory).take(sample_device(), problem_of(1)));
}

TEST_CASE("the lock of a killed process is free at once") {
  TemporaryFolder folder;
  const Store store = Store::open(folder / "a.db");
  const TaskLocks locks(store);
  for (int round = 0; round < 5; ++round) {
    const pid_t holder = start_holder(folder / "a.db", problem_of(1));
    CHECK_FALSE(locks.take(sample_device(), problem_of(1)));
    ::kill(holder, SIGKILL);
    status_of(holder);
    CHECK(locks.take(sample_device(), problem_of(1)));
  }
  CHECK(store.integrity_error().empty());
}

TEST_CASE("a lock does not outlive its process in a worker process that it has started") {
  TemporaryFolder folder;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t holder = start([&] {
    const Store store = Store::open(folder / "a.db");
    const std::optional<TaskLock> lock = TaskLocks(store).take(sample_device(), problem_of(1));
    const pid_t worker = ::fork();
    if (worker == 0) {
      ::execl("/bin/sleep", "sleep", "60", nullptr);
      ::_exit(127);
    }
    ::usleep(50000);  // the worker has become another program by then
    if (::write(ends[1], &worker, sizeof worker) != sizeof worker) return false;
    for (;;) ::pause();
  });
  pid_t worker = 0;
  REQUIRE(::read(ends[0], &worker, sizeof worker) == sizeof worker);
  ::kill(holder, SIGKILL);
  status_of(holder);
  const Store store = Store::open(folder / "a.db");
  CHECK(TaskLocks(store).take(sample_device(), problem_of(1)));
  ::kill(worker, SIGKILL);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("processes that lock at once never have the same problem, even where some are killed") {
  TemporaryFolder folder;
  { const Store created = Store::open(folder / "a.db"); }
  SharedCounters holders, turns;
  const auto locker = [&](int rounds) {
    return [&, rounds] {
      const Store store = Store::open(folder / "a.db");
      const TaskLocks locks(store);
      for (int i = 0; i < rounds; ++i) {
        const std::size_t problem = std::size_t(i % kProblems);
        const std::optional<TaskLock> lock = locks.take(sample_device(), problem_of(int(problem) + 1));
        if (!lock) continue;
        if (holders.get()[problem].exchange(int(::getpid())) != 0) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        ++turns.get()[problem];
        holders.get()[problem] = 0;
      }
      return true;
    };
  };
  std::array<pid_t, 4> pids{};
  for (pid_t& pid : pids) pid = start(locker(3000));
  for (const pid_t pid : pids) CHECK(status_of(pid) == 0);
  for (const auto& count : turns.get()) CHECK(count > 0);

  const pid_t victim = start([&] {
    const Store store = Store::open(folder / "a.db");
    const TaskLocks locks(store);
    for (;;) {
      for (int i = 1; i <= kProblems; ++i)
        const std::optional<TaskLock> lock = locks.take(sample_device(), problem_of(i));
    }
    return true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  ::kill(victim, SIGKILL);
  status_of(victim);
  const Store store = Store::open(folder / "a.db");
  for (int i = 1; i <= kProblems; ++i) CHECK(TaskLocks(store).take(sample_device(), problem_of(i)));
}

TEST_CASE("where no locks can be kept, one line names the file") {
  TemporaryFolder folder;
  const Store store = Store::open(folder / "a.db");
  std::filesystem::create_directory(folder / "a.db-locks");
  const std::string error = store_error([&] { TaskLocks(store).take("anything").reset(); });
  CHECK(contains(error, "a.db-locks"));
  CHECK(contains(error, "expected"));
  CHECK(is_one_line(error));
}

TEST_CASE("the file of locks may be used by whoever may write the database") {
  for (const mode_t mode : {0600U, 0666U}) {  // the umask takes from the second
    TemporaryFolder folder;
    const Store store = Store::open(folder / "a.db");
    ::chmod((folder / "a.db").c_str(), mode);
    const mode_t before = ::umask(0027);
    CHECK(TaskLocks(store).take("anything"));
    ::umask(before);
    struct stat status {};
    const std::filesystem::path file = folder / "a.db-locks";
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == mode);
    CHECK(status.st_size == 0);
    ::chmod(file.c_str(), 0640);  // what somebody has chosen is kept
    CHECK(TaskLocks(store).take("anything"));
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0640);
  }
}

TEST_CASE("paths to one database share its locks") {
  TemporaryFolder folder;
  const Store store = Store::open(folder / "a.db");
  std::filesystem::create_directory(folder / "sub");
  std::filesystem::create_symlink(folder / "a.db", folder / "sub" / "link.db");
  std::filesystem::create_directory_symlink(folder / "sub" / "..", folder / "here");
  const std::optional<TaskLock> lock = TaskLocks(store).take("anything");
  for (const std::filesystem::path& path :
      {folder / "sub" / "link.db", folder / "sub" / ".." / "a.db", folder / "here" / "a.db"})
    CHECK_FALSE(TaskLocks(Store::open(path)).take("anything"));
}

TEST_CASE("locks beside which a link to nowhere lies are refused at once") {
  TemporaryFolder folder;
  const Store store = Store::open(folder / "a.db");
  std::filesystem::create_symlink(folder / "nowhere" / "a.db-locks", folder / "a.db-locks");
  const std::string error = store_error([&] { static_cast<void>(TaskLocks(store).take("gpu")); });
  INFO(error);
  CHECK(contains(error, "a.db-locks: locks cannot be kept here"));
  CHECK(is_one_line(error));
}
