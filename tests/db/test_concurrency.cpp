// Several processes on one file, and writers killed in the middle of their work.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <set>
#include <string>
#include <thread>

#include "db/exchange/recording.hpp"
#include "db/files/bundle.hpp"
#include "db/files/merge.hpp"
#include "db/store/sqlite.hpp"
#include "tests/catch.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

/// A child process that records entries of its own and tells each through a pipe once record() has returned.
struct Writer {
  pid_t pid = -1;
  int acknowledgements = -1;
};

Writer start_writer(const std::filesystem::path& path, const std::string& run, int entries) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    try {
      Store store = Store::open(path);
      for (int i = 0; i < entries; ++i) {
        Record entry = right(1 + i, sample_config(i));
        entry.run = run;
        const std::int64_t id = store.record(entry);
        if (::write(ends[1], &id, sizeof id) != sizeof id) ::_exit(2);
      }
    } catch (const std::exception& error) {
      ::fprintf(stderr, "writer: %s\n", error.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  return {pid, ends[0]};
}

/// What was acknowledged so far; blocks until the pipe is closed.
std::set<std::int64_t> drain(Writer& writer) {
  std::set<std::int64_t> ids;
  std::int64_t id = 0;
  while (::read(writer.acknowledgements, &id, sizeof id) == sizeof id) ids.insert(id);
  ::close(writer.acknowledgements);
  return ids;
}

int wait_for(const Writer& writer) {
  int status = 0;
  ::waitpid(writer.pid, &status, 0);
  return status;
}

/// Whether another process would find the file locked by this one.
bool is_locked(const std::filesystem::path& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    const int file = ::open(path.c_str(), O_RDWR);
    const bool told = file >= 0 && ::fcntl(file, F_GETLK, &lock) == 0;
    ::_exit(!told ? 2 : lock.l_type != F_UNLCK && lock.l_pid == ::getppid() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) < 2);
  return WEXITSTATUS(status) == 1;
}

std::set<std::int64_t> stored_ids(const Store& store) {
  std::set<std::int64_t> ids;
  for (const Record& entry : store.records()) ids.insert(entry.id);
  return ids;
}

}  // namespace

TEST_CASE("two processes write to one database, created by whichever comes first") {
  TemporaryFolder folder;
  Writer one = start_writer(folder / "a.db", "one", 60);
  Writer two = start_writer(folder / "a.db", "two", 60);
  CHECK(drain(one).size() == 60);
  CHECK(drain(two).size() == 60);
  CHECK(wait_for(one) == 0);
  CHECK(wait_for(two) == 0);
  const Store store = Store::open_read_only(folder / "a.db");
  CHECK(store.records().size() == 120);
  CHECK(store.integrity_error().empty());
}

TEST_CASE("every acknowledged entry survives the killing of its writer") {
  TemporaryFolder folder;
  std::set<std::int64_t> acknowledged;
  for (int round = 0; round < 20; ++round) {
    Writer writer = start_writer(folder / "a.db", "run-" + std::to_string(round), 1000000);
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + round * 3));  // sometimes in the middle of opening
    ::kill(writer.pid, SIGKILL);
    acknowledged.merge(drain(writer));
    wait_for(writer);
  }
  const Store store = Store::open(folder / "a.db");
  CHECK(store.integrity_error().empty());
  const std::set<std::int64_t> stored = stored_ids(store);
  for (const std::int64_t id : acknowledged) CHECK(stored.count(id) == 1);
  CHECK_FALSE(acknowledged.empty());
}

TEST_CASE("who records waits as long as it is patient for another that holds the database") {
  using namespace std::chrono_literals;
  static_assert(Store::kPatience >= 5min);  // a merge of half a million entries takes longer than half a minute
  TemporaryFolder folder;
  Store store = Store::open(folder / "a.db");
  const Database other((folder / "a.db").string(), SQLITE_OPEN_READWRITE, "other");
  other.execute("BEGIN IMMEDIATE");
  store.set_patience(100ms);
  const std::string error = store_error([&] { store.record(right(10)); });
  INFO(error);
  CHECK(contains(error, "another process has held the database locked for 0.1 s"));
  store.set_patience(Store::kPatience);
  std::thread merge([&] {
    std::this_thread::sleep_for(300ms);
    other.execute("COMMIT");
  });
  CHECK(store_error([&] { store.record(right(10)); }) == "no error");
  merge.join();
  CHECK(store.records().size() == 1);
}

TEST_CASE("an open database stays locked when its process opens it again, or looks what it is") {
  // Locks of SQLite's are the process's: whoever closes a descriptor of the file by himself drops them all. Another
  // process that closes the database then takes itself for the last one and removes the log, into which this one goes
  // on committing.
  TemporaryFolder folder;
  const std::filesystem::path path = folder / "a.db";
  Store store = Store::open(path);
  store.record(right(10));
  REQUIRE(is_locked(path));
  CHECK_FALSE(is_bundle(path));
  CHECK(is_locked(path));
  {
    const Store again = Store::open(path), reader = Store::open_read_only(path);
    CHECK(is_locked(path));
    Store in_memory = Store::in_memory();
    CHECK(contains(store_error([&] { import_file(in_memory, path); }), "brought in with `merge`"));
    CHECK(contains(store_error([&] { load_bundle(path); }), "is an SQLite database: expected a bundle"));
    CHECK(is_locked(path));
  }
  CHECK(is_locked(path));
}

TEST_CASE("what is given by an open descriptor is read, of a removed file too") {
  TemporaryFolder folder;
  Store store = Store::in_memory();
  store.record(right(10));
  save_recording(store, {}, folder / "recording");
  const int file = ::open((folder / "recording").c_str(), O_RDONLY);
  REQUIRE(file >= 0);
  std::filesystem::remove(folder / "recording");
  Store into = Store::in_memory();
  CHECK(import_file(into, "/dev/fd/" + std::to_string(file)).added == 1);
  ::close(file);

  { Store::open(folder / "a.db").record(right(10)); }
  FILE* const pipe = ::popen(("cat " + (folder / "a.db").string()).c_str(), "r");
  REQUIRE(pipe != nullptr);
  const std::string name = "/dev/fd/" + std::to_string(::fileno(pipe));
  CHECK(contains(store_error([&] { import_file(into, name); }), "brought in with `merge`"));
  ::pclose(pipe);
}
