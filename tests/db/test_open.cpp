#include <chrono>

#include "db/store/open.hpp"
#include "tests/catch.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

namespace fs = std::filesystem;

/// Opens in both ways and expects the same refusal, the file's bytes unchanged and nothing left beside it.
void check_refused(const TemporaryFolder& folder, const fs::path& path, const std::string& reason) {
  const std::string before = fs::is_directory(path) ? "" : slurp(path);
  const std::string listing = folder.listing();
  for (const bool read_only : {false, true}) {
    const std::string error = store_error([&] {
      if (read_only) Store::open_read_only(path);
      else Store::open(path);
    });
    INFO(error);
    CHECK(contains(error, path.string()));
    CHECK(contains(error, reason));
    CHECK(is_one_line(error));
    CHECK((fs::is_directory(path) ? "" : slurp(path)) == before);
    CHECK(folder.listing() == listing);
  }
}

void make_database(const fs::path& path, const std::string& sql) {
  const Database database(path.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, path.string());
  database.execute(sql);
}

}  // namespace

TEST_CASE("a missing file is created for writing and refused for reading") {
  TemporaryFolder folder;
  CHECK(contains(store_error([&] { Store::open_read_only(folder / "a.db"); }), "there is no such file"));
  CHECK(folder.listing().empty());
  { Store::open(folder / "a.db").record(right(10)); }
  CHECK(folder.listing() == "a.db");
  CHECK(Store::open_read_only(folder / "a.db").records().size() == 1);
  CHECK(folder.listing() == "a.db");
}

TEST_CASE("entries are there when a database is opened again") {
  TemporaryFolder folder;
  { Store::open(folder / "a.db").record(right(10)); }
  Store store = Store::open(folder / "a.db");
  store.record(right(11, sample_config(2)));
  CHECK(store.records().size() == 2);
  CHECK(store.integrity_error().empty());
  CHECK(store.path() == folder / "a.db");
  CHECK_FALSE(store.read_only());
}

TEST_CASE("a folder, a text file and a device are refused untouched") {
  TemporaryFolder folder;
  fs::create_directory(folder / "sub");
  check_refused(folder, folder / "sub", "is a folder");
  spill(folder / "notes.txt",
      "these are notes, longer than a header of one hundred bytes, so that only the magic tells "
      "that this is no database at all\n");
  check_refused(folder, folder / "notes.txt", "is not an SQLite database");
  spill(folder / "short", "SQLite");
  check_refused(folder, folder / "short", "is not an SQLite database");
  spill(folder / "one", "\n");
  check_refused(folder, folder / "one", "is not an SQLite database");
  CHECK(contains(store_error([] { Store::open("/dev/null"); }), "is not a regular file"));
}

TEST_CASE("an empty file is refused for reading") {
  TemporaryFolder folder;
  spill(folder / "empty.db", "");
  CHECK(contains(store_error([&] { Store::open_read_only(folder / "empty.db"); }), "is empty"));
  CHECK(folder.listing() == "empty.db");
}

TEST_CASE("another program's database is refused untouched") {
  TemporaryFolder folder;
  make_database(folder / "foreign.db", "CREATE TABLE t (x)");
  check_refused(folder, folder / "foreign.db", "another program");
  make_database(folder / "tagged.db", "PRAGMA application_id = 7; PRAGMA user_version = 1; CREATE TABLE t (x)");
  check_refused(folder, folder / "tagged.db", "another program");
}

TEST_CASE("a file of another schema version is refused untouched, without files beside it") {
  TemporaryFolder folder;
  { Store::open(folder / "a.db"); }
  for (const char* version : {"2", "8", "99", "4294967295"}) {
    make_database(folder / "a.db",
        std::string("PRAGMA user_version = ") + (std::string_view(version) == "4294967295" ? "-1" : version));
    CHECK(folder.listing() == "a.db");
    check_refused(folder, folder / "a.db",
        std::string("database schema version ") + version + " is not this program's: expected 1");
  }
}

TEST_CASE("a corrupt database is refused with its reason") {
  TemporaryFolder folder;
  {
    Store store = Store::open(folder / "a.db");
    for (int i = 0; i < 80; ++i) store.record(right(10 + i, sample_config(i)));
  }
  const std::string sound = slurp(folder / "a.db");
  REQUIRE(sound.size() > 30000);
  std::string broken = sound;
  for (std::size_t i = 8192; i < broken.size() - 4096; ++i) broken[i] = char(i * 31);
  spill(folder / "a.db", broken);
  check_refused(folder, folder / "a.db", "corrupt");
  spill(folder / "a.db", sound.substr(0, sound.size() / 2));
  check_refused(folder, folder / "a.db", "corrupt");
  spill(folder / "a.db", sound.substr(0, 100));
  check_refused(folder, folder / "a.db", "");
}

TEST_CASE("a path that cannot be written is refused") {
  for (const char* path : {"/no/such/folder/a.db", "/proc/a.db", "/proc/version/a.db"}) {
    const std::string error = store_error([&] { Store::open(path); });
    INFO(error);
    CHECK(contains(error, path));
    CHECK(is_one_line(error));
  }
}

TEST_CASE("a creation cut short before its first table is taken up again") {
  TemporaryFolder folder;
  make_database(folder / "a.db", "CREATE TABLE t (x); DROP TABLE t; VACUUM");
  CHECK(Store::open(folder / "a.db").records().empty());
}

TEST_CASE("another database's log does not get into a sound one that is refused with it") {
  TemporaryFolder folder;
  {
    Store store = Store::open(folder / "a.db");
    for (int i = 0; i < 40; ++i) store.record(right(10 + i, sample_config(i)));
  }
  {
    Store store = Store::open(folder / "b.db");
    for (int i = 0; i < 300; ++i) store.record(failed(Status::mismatch, std::string(200, 'b'), sample_config(i)));
    fs::copy_file(folder / "b.db-wal", folder / "a.db-wal");  // as a killed writer leaves it
  }
  const std::string before = slurp(folder / "a.db");
  for (const bool read_only : {false, true}) {
    const std::string error = store_error([&] {
      if (read_only) Store::open_read_only(folder / "a.db");
      else Store::open(folder / "a.db");
    });
    INFO(error);
    CHECK(contains(
        error, "; its log a.db-wal may belong to another database: end all programs that use it, then move it away"));
    CHECK(is_one_line(error));
    CHECK(slurp(folder / "a.db") == before);
  }
  fs::remove(folder / "a.db-wal");
  CHECK(Store::open(folder / "a.db").records().size() == 40);
}

TEST_CASE("a log is not told to be another database's where the file itself is at fault, or of another version") {
  TemporaryFolder folder;
  const fs::path path = folder / "a.db", copy = folder / "copy.db";
  { Store::open(path).record(right(10)); }
  Store writer = Store::open(path);
  std::string file = slurp(path);
  SECTION("another schema version, which stands in the log alone") {
    make_database(path, "PRAGMA user_version = 99");
    spill(copy, file);
  }
  SECTION("a corrupt file beside its own log") {
    for (int i = 0; i < 80; ++i) writer.record(right(10 + i, sample_config(i)));
    for (std::size_t i = 4096; i < file.size(); ++i) file[i] = char(i * 31);
    spill(copy, file);
  }
  fs::copy_file(folder / "a.db-wal", folder / "copy.db-wal");
  REQUIRE(fs::file_size(folder / "copy.db-wal") > 0);
  for (const bool read_only : {false, true}) {
    const std::string error = store_error([&] {
      if (read_only) Store::open_read_only(copy);
      else Store::open(copy);
    });
    INFO(error);
    CHECK((contains(error, "version 99 is not this program's") || contains(error, "corrupt")));
    CHECK_FALSE(contains(error, "move it away"));
  }
}

TEST_CASE("another database's log does not get into a sound one that a link leads to") {
  TemporaryFolder folder, links;
  { Store::open(folder / "a.db").record(right(10)); }
  {
    Store store = Store::open(folder / "b.db");
    for (int i = 0; i < 300; ++i) store.record(failed(Status::mismatch, std::string(200, 'b'), sample_config(i)));
    fs::copy_file(folder / "b.db-wal", folder / "a.db-wal");  // as a killed writer leaves it
  }
  fs::create_symlink(folder / "a.db", links / "link.db");
  const std::string before = slurp(folder / "a.db");
  for (const bool read_only : {false, true}) {
    const std::string error = store_error([&] {
      if (read_only) Store::open_read_only(links / "link.db");
      else Store::open(links / "link.db");
    });
    INFO(error);
    CHECK(contains(error, (links / "link.db").string() + ": "));
    CHECK(contains(error, "; its log " + (folder / "a.db-wal").string() + " may belong to another database"));
    CHECK(slurp(folder / "a.db") == before);
  }
  CHECK(links.listing() == "link.db");
}

TEST_CASE("a link to a missing file creates that file, and an empty name is refused") {
  TemporaryFolder folder, links;
  fs::create_symlink(folder / "a.db", links / "link.db");
  { Store::open(links / "link.db").record(right(10)); }
  CHECK(folder.listing() == "a.db");
  CHECK(Store::open_read_only(folder / "a.db").records().size() == 1);
  CHECK(contains(store_error([] { Store::open(""); }), "expected the name of a file"));
  CHECK(contains(store_error([] { Store::open_read_only(""); }), "expected"));
}

TEST_CASE("names that SQLite would take for something else are plain files") {
  TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  { Store::open("file:a.db?mode=memory").record(right(10)); }
  { Store::open(":memory:").record(right(10)); }
  CHECK(Store::open_read_only(":memory:").records().size() == 1);
  fs::current_path(before);
  CHECK(folder.listing() == ":memory: file:a.db?mode=memory");
}

TEST_CASE("recording one entry takes milliseconds, its commit included") {
  TemporaryFolder folder;
  Store store = Store::open(folder / "a.db");
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 50; ++i) store.record(right(10 + i, sample_config(i)));
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  INFO(elapsed.count() / 50 << " ms an entry");
  CHECK(elapsed.count() / 50 < 100);  // ~1 ms on an idle disk
}
