// Databases in file systems that several hosts share.
#include "db/files/file_system.hpp"

#include <string>

#include "db/store/open.hpp"
#include "tests/catch.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

FileSystem nfs(const std::filesystem::path&) { return {0x6969, "nfs4"}; }

std::int64_t entries_in(const Database& database) {
  return read_unchanged(database, [&] {
    Statement row(database, "SELECT count(*) AS entries FROM records");
    row.step();
    return row.integer("entries");
  });
}

}  // namespace

TEST_CASE("file systems that several hosts may write are told by their magic, of FUSE by their type", "[file_system]") {
  CHECK(network_name({0x6969, ""}) == "NFS");
  CHECK(network_name({0xff534d42, ""}) == "CIFS");
  CHECK(network_name({std::int64_t(std::int32_t(0xff534d42)), ""}) == "CIFS");  // extended by its sign
  CHECK(network_name({0xfe534d42, ""}) == "SMB2");
  CHECK(network_name({0x01021997, "9p"}) == "9p");
  CHECK(network_name({0x0bd00bd0, ""}) == "Lustre");
  CHECK(network_name({0x47504653, ""}) == "GPFS");
  CHECK(network_name({0x00c36400, ""}) == "Ceph");
  CHECK(network_name({0x5346414f, ""}) == "AFS");
  CHECK(network_name({0x65735546, "fuse.sshfs"}) == "fuse.sshfs");
  for (const std::int64_t local :
      {0xef53L, 0x58465342L, 0x9123683eL, 0x01021994L, 0x794c7630L, 0x2fc12fc1L, 0xf2f52010L, 0L}) {
    INFO(local);
    CHECK_FALSE(network_name({local, ""}));  // ext4, XFS, Btrfs, tmpfs, overlayfs, ZFS, F2FS, not known
  }
  CHECK_FALSE(network_name({0x65735546, "fuse.ntfs-3g"}));
  CHECK_FALSE(network_name({0x65735546, ""}));
}

TEST_CASE("the file system of a folder is asked for, and one that is not there is not known", "[file_system]") {
  TemporaryFolder folder;
  CHECK(file_system_of(folder.path()).magic != 0);
  CHECK(file_system_of(folder / "none").magic == 0);
}

TEST_CASE("in a file system of a network nothing is written, and the line says what to do", "[file_system]") {
  TemporaryFolder folder;
  const std::string fresh = store_error([&] { open_for_writing(folder / "new.db", nfs); });
  CHECK(is_one_line(fresh));
  CHECK(contains(fresh, "new.db: lies in NFS"));
  CHECK(contains(fresh, "expected a local disk"));
  CHECK(contains(fresh, "tilesmith merge"));
  CHECK(folder.listing().empty());

  { Store::open(folder / "there.db").record(right(10)); }
  const std::string before = slurp(folder / "there.db");
  CHECK(contains(store_error([&] { open_for_writing(folder / "there.db", nfs); }), "lies in NFS"));
  CHECK(slurp(folder / "there.db") == before);
  CHECK(folder.listing() == "there.db");
}

TEST_CASE(
    "in a file system of a network a database is read without locks, and anew once it has changed", "[file_system]") {
  TemporaryFolder folder;
  { Store::open(folder / "there.db").record(right(10)); }
  const Database database = open_for_reading(folder / "there.db", nfs);
  CHECK(entries_in(database) == 1);
  CHECK(folder.listing() == "there.db");
  { Store::open(folder / "there.db").record(right(11)); }  // a copy that somebody brought up to date
  CHECK(entries_in(database) == 2);
}

TEST_CASE(
    "in a file system of a network a database with a writer's log beside it is refused in a line", "[file_system]") {
  TemporaryFolder folder;
  Store writer = Store::open(folder / "there.db");
  writer.record(right(10));
  REQUIRE(std::filesystem::exists(folder / "there.db-wal"));
  const std::string error = store_error([&] { open_for_reading(folder / "there.db", nfs); });
  CHECK(is_one_line(error));
  CHECK(contains(error, "lies in NFS with a writer's log beside it"));
}
