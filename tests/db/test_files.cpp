// Where a file cannot be replaced by a renamed one, it is written in place; what it held before is lost to no one who
// did not ask.
#include "db/files/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <string>

#include "db/exchange/export.hpp"
#include "tests/catch.hpp"
#include "tests/db/ordinary_user.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

namespace fs = std::filesystem;

/// A descriptor of this process, and the name under which it goes.
class Open {
 public:
  Open(const fs::path& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  explicit Open(int fd) : fd_(fd) {}
  ~Open() { ::close(fd_); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  int fd() const { return fd_; }
  fs::path name() const { return "/dev/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace

TEST_CASE("what is written to an open descriptor follows what stands in its file") {
  const TemporaryFolder folder;
  spill(folder / "log", "a line\n");
  const Open log(folder / "log", O_WRONLY | O_APPEND);
  fs::create_symlink(log.name(), folder / "link");
  CHECK(not_writable_because(log.name()).empty());
  write_file_atomically(log.name(), "first\n");
  write_file_atomically(folder / "link", "second\n");
  CHECK(slurp(folder / "log") == "a line\nfirst\nsecond\n");

  const Open plain(folder / "plain", O_WRONLY | O_CREAT);  // as `> plain` opens it
  write_file_atomically(plain.name(), "first\n");
  std::FILE* const file = open_to_append(plain.name());
  REQUIRE(file != nullptr);
  std::fputs("second\n", file);
  std::fclose(file);
  REQUIRE(::write(plain.fd(), "third\n", 6) == 6);
  CHECK(slurp(folder / "plain") == "first\nsecond\nthird\n");

  const Open reading(folder / "log", O_RDONLY);
  CHECK(not_writable_because(reading.name()) == "is open for reading");
  CHECK(own_descriptor(reading.name()) == reading.fd());
  CHECK_FALSE(own_descriptor("/dev/fd/4000"));
  CHECK_FALSE(own_descriptor(folder / "log"));
}

TEST_CASE("pipes and devices are written to") {
  const TemporaryFolder folder;
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const Open from(ends[0]), to(ends[1]);
  write_file_atomically(to.name(), "through the pipe");
  char got[32] = {};
  CHECK(::read(from.fd(), got, sizeof got) == 16);
  CHECK(std::string(got) == "through the pipe");

  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  const Open reader(folder / "fifo", O_RDONLY | O_NONBLOCK);
  write_file_atomically(folder / "fifo", "named");
  CHECK(::read(reader.fd(), got, sizeof got) == 5);
  CHECK(fs::is_fifo(folder / "fifo"));

  CHECK(not_writable_because("/dev/null").empty());
  CHECK_NOTHROW(write_file_atomically("/dev/null", "x"));
  if (fs::exists("/dev/full"))
    CHECK(contains(store_error([] { write_file_atomically("/dev/full", "x"); }), "/dev/full"));
}

TEST_CASE("a writable file in a folder that is not is written in place") {
  const TemporaryFolder folder;
  spill(folder / "a", "much longer than what comes");
  fs::permissions(folder / "a", fs::perms(0666));
  fs::permissions(folder.path(), fs::perms(0555));
  CHECK(as_ordinary_user([&] {
    if (!not_writable_because(folder / "a").empty()) return false;
    write_file_atomically(folder / "a", "short");
    return slurp(folder / "a") == "short" && !not_writable_because(folder / "new").empty();
  }) == 0);
  fs::permissions(folder.path(),
      fs::perms(01777));  // in which root's files cannot be renamed over by others, as mounted ones by none
  CHECK(as_ordinary_user([&] {
    write_file_atomically(folder / "a", "shorter");
    return slurp(folder / "a") == "shorter";
  }) == 0);
  CHECK(folder.listing() == "a");
}

TEST_CASE("why a path cannot be written is told before anything is") {
  const TemporaryFolder folder;
  CHECK(not_writable_because(folder / "new").empty());
  CHECK(not_writable_because(folder.path()) == "is a folder");
  CHECK(not_writable_because("") == "names no file");
  CHECK(contains(not_writable_because(folder / "no" / "such"), "does not exist"));
  fs::create_symlink(folder / "no" / "such", folder / "nowhere");
  CHECK(contains(not_writable_because(folder / "nowhere"), "does not exist"));
  fs::create_symlink("new", folder / "ahead");
  CHECK(not_writable_because(folder / "ahead").empty());
  write_file_atomically(folder / "ahead", "x");
  CHECK(fs::is_symlink(folder / "ahead"));
  CHECK(slurp(folder / "new") == "x");
}
