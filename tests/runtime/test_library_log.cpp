// What the library logs, and where to.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "db/store/sqlite.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/library_fixture.hpp"

using namespace tilesmith;
using runtime::fake::stored_only;
using Fixture = runtime::fake::LibraryFixture;

namespace {

struct Said {
  int status = 0;  ///< as waitpid() gives it
  std::string out, err;
};

/// In a process of its own, whose streams are files, and which has no logger left.
template <typename Call>
Said without_loggers(const Fixture& fixture, Call&& call) {
  const std::string out = fixture.path("out.txt"), err = fixture.path("err.txt");
  const pid_t child = ::fork();
  if (child == 0) {
    const bool ready =
        std::freopen(out.c_str(), "w", stdout) != nullptr && std::freopen(err.c_str(), "w", stderr) != nullptr;
    spdlog::shutdown();
    if (ready) call();
    std::fflush(nullptr);
    ::_exit(ready ? 0 : 127);
  }
  Said said;
  REQUIRE(::waitpid(child, &said.status, 0) == child);
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  said.out = read(out);
  said.err = read(err);
  return said;
}

void corrupt_cubins(const std::filesystem::path& path) {
  const db::Database database(path, SQLITE_OPEN_READWRITE, path);
  database.execute("UPDATE cubins SET data = x'00112233'");
}

}  // namespace

TEST_CASE("the library warns on stderr, whatever became of the application's loggers", "[api]") {
  const Fixture fixture;
  const std::filesystem::path path = fixture.small_database();
  {
    db::Store store = db::Store::open(path);
    const KernelTarget target = fixture.target(fixture.problem("f16f32 NN 512 512 512"));
    store.record_build(fixture.build("f16f32 NN 512 512 512", generic_config(target)));
  }
  corrupt_cubins(path);
  const Said said = without_loggers(fixture, [&] {
    const Library library = Library::open(path, stored_only());
    CHECK_THROWS_AS(library.plan(fixture.problem("f16f32 NN 512 512 512")), Error);
  });
  CHECK(said.status == 0);
  CHECK(said.out.empty());
  CHECK(said.err.find("is corrupt or missing") != std::string::npos);
}

TEST_CASE("what a destructor has to say goes to stderr, too", "[api]") {
  const Fixture fixture;
  const std::filesystem::path path = fixture.small_database();
  const Said said = without_loggers(fixture, [&] {
    const Library library = Library::open(path, stored_only());
    const GemmPlan plan = library.plan(fixture.problem("f16f32 NN 512 512 512"));
    runtime::fake::state().failures["module_unload"] = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  });
  CHECK(said.status == 0);
  CHECK(said.out.empty());
  CHECK(said.err.find("cuModuleUnload") != std::string::npos);
}

TEST_CASE("TILESMITH_LOG=off silences standard error, and a word that there is not is said", "[api]") {
  const Fixture fixture;
  const std::filesystem::path path = fixture.small_database();
  const auto said_with = [&](const char* level) {
    return without_loggers(fixture, [&] {
      ::setenv("TILESMITH_LOG", level, 1);
      const Library library = Library::open(path, stored_only());
      library.plan(fixture.problem("f16f32 NN 500 512 512"));
    });
  };
  CHECK(said_with("off").err.empty());
  for (const char* level : {"warn", ""}) {
    const std::string err = said_with(level).err;
    CHECK(err.find("model level") != std::string::npos);
    CHECK(err.find("TILESMITH_LOG") == std::string::npos);
  }
  const std::string err = said_with("loud").err;
  CHECK(err.find("TILESMITH_LOG is 'loud': expected off or warn") != std::string::npos);
  CHECK(err.find("model level") != std::string::npos);
}

TEST_CASE("an application's logger of the library's name gets its lines", "[api]") {
  const Fixture fixture;
  const std::filesystem::path path = fixture.small_database();
  corrupt_cubins(path);
  const Library library = Library::open(path, stored_only());
  CHECK_THROWS_AS(library.plan(fixture.problem("f16f32 NN 512 512 512")), Error);
  CHECK(Fixture::logged().str().find("is corrupt or missing") != std::string::npos);
}
