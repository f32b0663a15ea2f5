// Databases that are only read: what a reader sees, and what it leaves.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <vector>

#include "db/store/open.hpp"
#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/db/ordinary_user.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

namespace fs = std::filesystem;

/// A process of its own, begun with today's privileges, that does a step each time it is told to.
class Steps {
 public:
  explicit Steps(std::vector<std::function<void()>> steps) {
    if (::pipe(go_) != 0 || ::pipe(done_) != 0) std::abort();
    child_ = ::fork();
    if (child_ != 0) return;
    char byte = 0;
    for (const auto& step : steps) {
      if (::read(go_[0], &byte, 1) != 1) ::_exit(1);
      try {
        step();
        byte = 1;
      } catch (const std::exception& error) {
        ::fprintf(stderr, "%s\n", error.what());
        byte = 0;
      }
      if (::write(done_[1], &byte, 1) != 1) ::_exit(1);
    }
    ::_exit(0);
  }
  ~Steps() { ::waitpid(child_, nullptr, 0); }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;
  bool next() {
    char byte = 0;
    return ::write(go_[1], &byte, 1) == 1 && ::read(done_[0], &byte, 1) == 1 && byte == 1;
  }

 private:
  int go_[2], done_[2];
  pid_t child_ = -1;
};

void record_many(Store& store, const std::string& message) {
  std::vector<Record> entries;
  for (int i = 0; i < 200; ++i) entries.push_back(failed(Status::mismatch, message, sample_config(i)));
  store.record(entries);
}

}  // namespace

TEST_CASE("a store opened for reading refuses to write") {
  TemporaryFolder folder;
  { Store::open(folder / "a.db").record(right(10)); }
  const std::string before = slurp(folder / "a.db");
  {
    Store store = Store::open_read_only(folder / "a.db");
    CHECK(store.read_only());
    CHECK(contains(store_error([&] { store.record(right(11)); }), (folder / "a.db").string()));
    CHECK(store.records().size() == 1);
  }
  CHECK(slurp(folder / "a.db") == before);
}

TEST_CASE("a reader sees what a writer commits while both have the file open") {
  TemporaryFolder folder;
  Store writer = Store::open(folder / "a.db");
  writer.record(right(10));
  Store reader = Store::open_read_only(folder / "a.db");
  std::optional<Store> its_own = writer.reader();
  REQUIRE(its_own);
  CHECK(its_own->read_only());
  for (const Store* store : {&reader, &*its_own}) CHECK(store->records().size() == 1);
  writer.record(right(11));
  for (const Store* store : {&reader, &*its_own}) CHECK(store->records().size() == 2);
  CHECK_FALSE(Store::in_memory().reader());  // it would see nothing
}

TEST_CASE("a database in a folder that cannot be written is read, and nothing is written beside it") {
  TemporaryFolder folder;
  { Store::open(folder / "a.db").record(right(10)); }
  ::chmod((folder / "a.db").c_str(), 0444);
  ::chmod(folder.path().c_str(), 0555);
  CHECK(as_ordinary_user([&] { return bests_of(Store::open_read_only(folder / "a.db")).size() == 1; }) == 0);
  CHECK(as_ordinary_user(
            [&] { return contains(store_error([&] { Store::open(folder / "a.db"); }), "is not writable"); }) == 0);
  CHECK(folder.listing() == "a.db");
}

TEST_CASE("who may not write a database reads what is written to it, before, while and after a writer has it open") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can become a user who may not write");
    return;
  }
  TemporaryFolder folder;
  ::chmod(folder.path().c_str(), 0755);
  const fs::path path = folder / "a.db";
  {
    Store store = Store::open(path);
    record_many(store, std::string(300, 'a'));
    store.record_build(sample_build());
  }
  std::optional<Store> writer;
  Steps steps({
      // Opened and ended between two reads, its log taken into the file.
      [&] {
        Store store = Store::open(path);
        record_many(store, std::string(2000, 'b'));
      },
      [&] { (writer = Store::open(path))->record(right(10, sample_config(1000))); },
      [&] { record_many(*writer, std::string(2000, 'c')); },
      [&] { writer.reset(); },
  });
  const int status = as_ordinary_user([&] {
    const Store reader = Store::open_read_only(path);
    const std::string files = folder.listing();
    bool right_so_far = files == "a.db" && reader.find_build(sample_key());
    right_so_far = right_so_far && steps.next() && reader.records().size() == 400 && reader.find_build(sample_key());
    right_so_far = right_so_far && steps.next() && reader.records().size() == 401;
    const Store second = Store::open_read_only(path);  // while there is a writer
    right_so_far = right_so_far && steps.next() && reader.records().size() == 601 && second.records().size() == 601;
    right_so_far = right_so_far && steps.next() && reader.records().size() == 601 && reader.integrity_error().empty();
    return right_so_far && Store::open_read_only(path).records().size() == 601;
  });
  CHECK(status == 0);
  CHECK(Store::open(path).records().size() == 601);
}

TEST_CASE("a database without a writer's files is read anew when it was replaced, and on when it was removed") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can become a user who may not write");
    return;
  }
  TemporaryFolder folder;
  ::chmod(folder.path().c_str(), 0755);
  { Store::open(folder / "a.db").record(right(10)); }
  {
    Store store = Store::open(folder / "b.db");
    record_many(store, "b");
  }
  Steps steps({[&] { fs::rename(folder / "b.db", folder / "a.db"); }, [&] { fs::remove(folder / "a.db"); }});
  CHECK(as_ordinary_user([&] {
    // Two slashes at the beginning would read as a host's name in a URI.
    const Store reader = Store::open_read_only("/" + (folder / "a.db").string());
    return reader.records().size() == 1 && steps.next() && bests_of(reader).empty() && reader.records().size() == 200 &&
           steps.next() && reader.records().size() == 200;
  }) == 0);
}

TEST_CASE("a file whose content was exchanged with its time and size kept is read anew") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can become a user who may not write");
    return;
  }
  TemporaryFolder folder;
  ::chmod(folder.path().c_str(), 0755);
  const auto make = [&](const char* name, double median_us) { Store::open(folder / name).record(right(median_us)); };
  make("a.db", 10);
  make("b.db", 20);
  REQUIRE(fs::file_size(folder / "a.db") == fs::file_size(folder / "b.db"));
  Steps steps({[&] {
    const auto time = fs::last_write_time(folder / "a.db");
    ::usleep(20000);  // more than a file system's tick
    spill(folder / "a.db", slurp(folder / "b.db"));
    fs::last_write_time(folder / "a.db", time);
  }});
  CHECK(as_ordinary_user([&] {
    const Store reader = Store::open_read_only(folder / "a.db");
    const auto median_us = [&] { return reader.records().at(0).outcome.timing->median_us; };
    return median_us() == 10 && steps.next() && median_us() == 20;
  }) == 0);
}

TEST_CASE("a reader that ends last leaves the database's bytes as they are, and the log to the next writer") {
  TemporaryFolder folder;
  { Store::open(folder / "a.db").record(right(10)); }
  std::optional<Store> reader = Store::open_read_only(folder / "a.db");
  { Store::open(folder / "a.db").record(right(11)); }
  const std::string before = slurp(folder / "a.db");
  reader.reset();
  CHECK(slurp(folder / "a.db") == before);
  CHECK(Store::open_read_only(folder / "a.db").records().size() == 2);
  CHECK(slurp(folder / "a.db") == before);
  CHECK(Store::open(folder / "a.db").records().size() == 2);
  CHECK(folder.listing() == "a.db");
}

TEST_CASE("what a writer recorded is in the file when it ends, whoever reads meanwhile") {
  TemporaryFolder folder;
  { Store::open(folder / "a.db").record(right(10)); }
  const Store reader = Store::open_read_only(folder / "a.db");
  CHECK(reader.records().size() == 1);
  {
    Store writer = Store::open(folder / "a.db");
    record_many(writer, "b");
  }
  fs::copy_file(folder / "a.db", folder / "copy.db");
  CHECK(Store::open_read_only(folder / "copy.db").records().size() == 201);
  CHECK(reader.records().size() == 201);
}

TEST_CASE("a database is read where there is no room for files beside it") {
  TemporaryFolder folder;
  { Store::open(folder / "a.db").record(right(10)); }
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit none {};
    ::setrlimit(RLIMIT_FSIZE, &none);
    std::size_t entries = 0;
    const std::string error = store_error([&] { entries = Store::open_read_only(folder / "a.db").records().size(); });
    if (entries != 1) ::fprintf(stderr, "%s\n", error.c_str());
    ::_exit(entries == 1 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("a log left beside a database that cannot be written is not passed over") {
  TemporaryFolder folder;
  {
    Store store = Store::open(folder / "a.db");
    store.record(right(10));
    // A copy of a database in use: its entries are still in the log.
    fs::copy_file(folder / "a.db", folder / "copy.db");
    fs::copy_file(folder / "a.db-wal", folder / "copy.db-wal");
  }
  ::chmod((folder / "copy.db").c_str(), 0444);
  ::chmod((folder / "copy.db-wal").c_str(), 0444);
  ::chmod(folder.path().c_str(), 0555);
  CHECK(as_ordinary_user([&] {
    return contains(store_error([&] { Store::open_read_only(folder / "copy.db"); }), "copy.db-wal");
  }) == 0);
}

TEST_CASE("a reader by a link sees what a writer has in its log, opened before the writer or after it") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can become a user who may not write");
    return;
  }
  TemporaryFolder folder, links;
  const fs::path path = folder / "a.db", link = links / "link.db";
  fs::create_symlink(path, link);
  for (const fs::path& one : {folder.path(), links.path()}) ::chmod(one.c_str(), 0755);
  { Store::open(path).record(right(10)); }
  std::optional<Store> writer;
  Steps steps({[&] { (writer = Store::open(path))->record(right(11)); }});
  CHECK(as_ordinary_user([&] {
    const Store reader = Store::open_read_only(link);
    return reader.records().size() == 1 && steps.next() && reader.records().size() == 2 &&
           Store::open_read_only(link).records().size() == 2;
  }) == 0);
}

TEST_CASE("what is read while a file changes is read again, a few times") {
  int changes = 0, reads = 0;
  std::function<std::optional<Database>()> fresh = [&]() -> std::optional<Database> {
    if (changes == 0) return std::nullopt;
    --changes;
    Database next = open_in_memory();
    next.renew_by(fresh);
    return next;
  };
  Database database = open_in_memory();
  database.renew_by(fresh);
  const auto read = [&] {
    if (++reads == 1) throw StoreError("malformed");  // as it comes out of two states
    Statement count(database, "SELECT count(*) AS entries FROM records");
    return count.step() ? count.integer("entries") : -1;
  };
  CHECK(contains(store_error([&] { read_unchanged(database, read); }), "malformed"));
  reads = 0;
  changes = 3;  // before it, during it, and before it is read again
  CHECK(read_unchanged(database, read) == 0);
  CHECK(reads == 2);
  changes = 1000;
  const auto changing = [&] { return ++reads; };
  reads = 0;
  CHECK(contains(store_error([&] { read_unchanged(database, changing); }), "changes again and again"));
  CHECK(reads == 5);
  changes = 1;
  database.set_patience(std::chrono::milliseconds(1234));
  CHECK(database.renewed());
  Statement patience(database, "PRAGMA busy_timeout");
  CHECK((patience.step() && patience.integer("timeout") == 1234));
}
