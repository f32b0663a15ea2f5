// What is opened where no database is named.
#include <fstream>

#include "runtime/interface/default_database.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/environment_variable.hpp"
#include "tests/runtime/failure_of.hpp"
#include "tests/runtime/library_fixture.hpp"

namespace tilesmith::runtime {
namespace {

namespace fs = std::filesystem;
using FakeLibrary = fake::LibraryFixture;
constexpr const char* kWhere = "f16f32 NN 512 512 512";

/// A database with a record of a device of this name and compute capability.
void make_bests(const FakeLibrary& fixture, const fs::path& file, const std::string& name, int sm) {
  fs::create_directories(file.parent_path());
  db::Store store = db::Store::open(file);
  db::Record record = fixture.record(kWhere, FakeLibrary::simt(32), 9.5);
  record.device.name = name;
  record.device.sm = sm;
  store.record(record);
}

}  // namespace

TEST_CASE("of the bests that ship those of the device most like this one are found", "[default]") {
  const FakeLibrary fixture;
  const fs::path folder = fixture.path("bests");
  CHECK(bests_of_device_like(fixture.info.identity, folder).empty());
  make_bests(fixture, folder / "h100.db", "NVIDIA H100 80GB HBM3", 90);
  make_bests(fixture, folder / "h200.db", "NVIDIA H200", 90);
  make_bests(fixture, folder / "orin.db", "Orin", 87);
  std::ofstream(folder / "notes.txt") << "no database";
  const auto found = [&](const char* name, int sm) {
    db::DeviceIdentity device = fixture.info.identity;
    device.name = name;
    device.sm = sm;
    return bests_of_device_like(device, folder).filename();
  };
  CHECK(found("NVIDIA H200", 90) == "h200.db");
  CHECK(found("NVIDIA H100 80GB HBM3", 90) == "h100.db");
  CHECK(found("NVIDIA H100 PCIe", 90) == "h100.db");
  CHECK(found("NVIDIA GH200 480GB", 90) == "h200.db");
  CHECK(found("Orin", 87) == "orin.db");
  CHECK(found("NVIDIA A100-SXM4-80GB", 80).empty());
  CHECK(found("NVIDIA H200", 100).empty());
  std::ofstream(folder / "broken.db") << "no database";
  CHECK_THROWS_AS(found("NVIDIA H200", 90), db::StoreError);
}

TEST_CASE("what ships is found from the library's own file, in a wheel and in an installation", "[default]") {
  const FakeLibrary fixture;
  CHECK(shipped_bests_folder(fixture.path("prefix/lib/libtilesmith.so")).empty());
  fs::create_directories(fixture.path("prefix/share/tilesmith/bests"));
  CHECK(
      shipped_bests_folder(fixture.path("prefix/lib/libtilesmith.so")) == fixture.path("prefix/share/tilesmith/bests"));
  CHECK(shipped_bests_folder(fixture.path("prefix/bin/program")) == fixture.path("prefix/share/tilesmith/bests"));
  CHECK(shipped_bests_folder(fixture.path("prefix/lib/x86_64-linux-gnu/libtilesmith.so")) ==
        fixture.path("prefix/share/tilesmith/bests"));
  fs::create_directories(fixture.path("tilesmith/bests"));
  CHECK(shipped_bests_folder(fixture.path("tilesmith/lib/libtilesmith.so")) == fixture.path("tilesmith/bests"));
}

TEST_CASE("the named database is opened, else your own, else what ships, else none", "[default]") {
  const FakeLibrary fixture;
  const Variable data("XDG_DATA_HOME", fixture.path("data")), unnamed("TILESMITH_DB", "");
  CHECK(default_database(0) == shipped_bests(0));
  {
    const Library library = Library::open_default();
    CHECK(library.database() == shipped_bests(0));
    CHECK(library.plan(FakeLibrary::problem("f16f32 NN 0 512 512")).explain().level == "generic");
  }
  const fs::path own = fixture.path("data/tilesmith/tuned.db");
  fs::create_directories(own.parent_path());
  fs::copy_file(fixture.small_database(), own);
  CHECK(Library::open_default(fake::stored_only()).database() == own);
  CHECK(Library::open_default(fake::stored_only()).plan(FakeLibrary::problem(kWhere)).explain().level == "exact");
  const Variable named("TILESMITH_DB", fixture.path("named.db"));
  CHECK(failure_of([] { (void)Library::open_default(); }) == ErrorCode::bad_database);  // it is not there
  make_bests(fixture, fixture.path("named.db"), "NVIDIA Fake", 90);
  CHECK(Library::open_default().database() == fixture.path("named.db"));
  CHECK(Library::without_database().database().empty());
}

TEST_CASE("C opens the default too, and tells what it opened", "[default]") {
  const FakeLibrary fixture;
  const Variable named("TILESMITH_DB", fixture.small_database());
  tilesmith_library* library = nullptr;
  REQUIRE(tilesmith_open_default(0, &library) == TILESMITH_OK);
  CHECK(tilesmith_database(library) == fixture.small_database().string());
  tilesmith_close(library);
  tilesmith_options options = TILESMITH_OPTIONS;
  options.allow_compile = 0;
  REQUIRE(tilesmith_open_default_with_options(&options, &library) == TILESMITH_OK);
  tilesmith_close(library);
  CHECK(tilesmith_database(nullptr) == std::string());
  CHECK(tilesmith_open_default_with_options(nullptr, &library) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_open_default(7, &library) == TILESMITH_NO_DEVICE);
  CHECK(library == nullptr);
  char path[4096] = "x", small[1] = {'x'};
  CHECK(tilesmith_shipped_database(0, path, sizeof path) == TILESMITH_OK);
  CHECK(path == shipped_bests(0).string());
  CHECK(tilesmith_shipped_database(7, path, sizeof path) == TILESMITH_OK);
  CHECK(path == std::string());
  CHECK(tilesmith_shipped_database(0, small, sizeof small) ==
        (shipped_bests(0).empty() ? TILESMITH_OK : TILESMITH_BAD_ARGUMENT));
  CHECK(tilesmith_shipped_database(0, nullptr, 0) == TILESMITH_BAD_ARGUMENT);
}

}  // namespace tilesmith::runtime
