// Databases on a file system that has no locks.
#include <sqlite3.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "db/store/sqlite.hpp"
#include "tests/catch.hpp"
#include "tests/db/ordinary_user.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

namespace fs = std::filesystem;

/// From now on this process gets no lock on any file. SQLite says SQLITE_BUSY where fcntl() says ENOLCK.
void take_locks_away() {
  static sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
  static sqlite3_vfs without_locks = *system;
  static sqlite3_io_methods methods;
  without_locks.zName = "without locks";
  without_locks.xOpen = [](sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    const int code = system->xOpen(system, name, file, flags, out_flags);
    if (code != SQLITE_OK) return code;
    methods = *file->pMethods;
    methods.xLock = [](sqlite3_file*, int) { return SQLITE_BUSY; };
    file->pMethods = &methods;
    return code;
  };
  sqlite3_vfs_register(&without_locks, 1);
}

/// As databases are that ship: of one file, and not to be written.
void make_shipped(const TemporaryFolder& folder, const fs::path& path) {
  { Store::open(path).record(right(10)); }
  {
    const Database database(path.string(), SQLITE_OPEN_READWRITE, path.string());
    database.execute("PRAGMA journal_mode = DELETE");
  }
  ::chmod(path.c_str(), 0444);
  ::chmod(folder.path().c_str(), 0555);
}

}  // namespace

TEST_CASE("a database without a log is read where there are no locks, at once") {
  TemporaryFolder folder;
  make_shipped(folder, folder / "a.db");
  CHECK(as_ordinary_user([&] {
    take_locks_away();
    const auto start = std::chrono::steady_clock::now();
    const bool read = Store::open_read_only(folder / "a.db").records().size() == 1;
    return read && std::chrono::steady_clock::now() - start < std::chrono::seconds(5);
  }) == 0);
  CHECK(folder.listing() == "a.db");
}

TEST_CASE("a lock is waited for where a writer's journal lies beside the database") {
  TemporaryFolder folder;
  make_shipped(folder, folder / "a.db");
  ::chmod(folder.path().c_str(), 0755);
  ::chmod((folder / "a.db").c_str(), 0644);
  const pid_t writer = ::fork();
  if (writer == 0) {
    const Database database((folder / "a.db").string(), SQLITE_OPEN_READWRITE, "writer");
    database.execute("BEGIN EXCLUSIVE; UPDATE records SET median_us = 11");
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    database.execute("COMMIT");
    ::_exit(0);
  }
  for (int tries = 0; tries < 5000 && folder.listing() == "a.db"; ++tries) ::usleep(1000);
  CHECK(folder.listing() == "a.db a.db-journal");
  ::chmod((folder / "a.db").c_str(), 0444);
  CHECK(as_ordinary_user([&] {
    return Store::open_read_only(folder / "a.db").records().at(0).outcome.timing->median_us == 11;
  }) == 0);
  ::waitpid(writer, nullptr, 0);
}
