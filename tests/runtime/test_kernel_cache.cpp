// The kernels on disk: what is found again, what is refused, and what a library makes of it.
#include "runtime/compile/kernel_cache.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "runtime/interface/helper_kernels.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/environment_variable.hpp"
#include "tests/runtime/fake_nvrtc.hpp"
#include "tests/runtime/library_fixture.hpp"

namespace tilesmith::runtime {
namespace {

namespace fs = std::filesystem;
using FakeLibrary = fake::LibraryFixture;
constexpr const char* kWhere = "f16f32 NN 512 512 512";

std::vector<std::byte> cubin_of(char letter, std::size_t bytes = 1000) {
  return std::vector<std::byte>(bytes, std::byte(letter));
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

}  // namespace

TEST_CASE("a kernel that was kept is found by its key and NVRTC, by another process's cache too", "[cache]") {
  const FakeLibrary fixture;
  const fs::path folder = fixture.path("made/when/needed");
  KernelCache cache(folder);
  CHECK_FALSE(cache.find("key", "13.0", 13000));
  CHECK_FALSE(fs::exists(folder));
  cache.keep("key", "13.0", cubin_of('a'));
  const KernelCache other(folder);
  REQUIRE(other.find("key", "13.0", 13000));
  CHECK(other.find("key", "13.0", 13000)->cubin == cubin_of('a'));
  CHECK(other.has("key", "13.0"));
  CHECK_FALSE(other.find("key", "12.6", 13000));
  CHECK_FALSE(other.find("ke", "13.0", 13000));
  CHECK_FALSE(other.has("ke", "13.0"));
  struct stat is {};
  REQUIRE(::stat(folder.c_str(), &is) == 0);
  CHECK((is.st_mode & 0777) == 0700);
  CHECK(fs::status(files_in(folder).at(0)).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(files_in(folder).size() == 1);
}

TEST_CASE("without an NVRTC, the newest one's kernel that the driver loads is found", "[cache]") {
  const FakeLibrary fixture;
  KernelCache cache(fixture.path("cache"));
  for (const char* version : {"12.2", "13.0", "12.9"}) cache.keep("key", version, cubin_of(version[3]));
  CHECK(cache.find("key", "", 13000)->nvrtc_version == "13.0");
  CHECK(cache.find("key", "", 12040)->nvrtc_version == "12.9");
  CHECK(cache.find("key", "", 12040)->cubin == cubin_of('9'));
  CHECK_FALSE(cache.find("another", "", 13000));
}

TEST_CASE("a damaged or truncated file is a miss, told once, and is replaced", "[cache]") {
  const FakeLibrary fixture;
  const fs::path folder = fixture.path("cache");
  KernelCache cache(folder);
  cache.keep("key", "13.0", cubin_of('a'));
  const fs::path file = files_in(folder).at(0);
  const std::string sound = contents(file);
  std::string flipped = sound;
  flipped[flipped.size() / 2] ^= 1;
  for (const std::string& damaged : {flipped, sound.substr(0, sound.size() - 1), sound.substr(0, 20), std::string()}) {
    FakeLibrary::logged().str("");
    write(file, damaged);
    CHECK_FALSE(cache.find("key", "13.0", 13000));
    CHECK(FakeLibrary::logged().str().find("is damaged (its checksum differs)") != std::string::npos);
    FakeLibrary::logged().str("");
    CHECK_FALSE(cache.find("key", "13.0", 13000));
    CHECK(FakeLibrary::logged().str().empty());
    cache.keep("key", "13.0", cubin_of('a'));
    CHECK(cache.find("key", "13.0", 13000));
  }
  cache.keep("another key", "13.0", cubin_of('b'));
  for (const fs::path& one : files_in(folder)) {
    if (one != file) fs::copy_file(one, file, fs::copy_options::overwrite_existing);
  }
  CHECK_FALSE(cache.find("key", "13.0", 13000));  // sound, and another's
}

TEST_CASE("who reads while many write sees whole kernels only", "[cache]") {
  const FakeLibrary fixture;
  const fs::path folder = fixture.path("cache");
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (const char letter : {'a', 'b', 'c'}) {
    writers.emplace_back([&, letter] {
      KernelCache own(folder);
      while (!stop) own.keep("key", "13.0", cubin_of(letter, 300000));
    });
  }
  const KernelCache cache(folder);
  int found = 0;
  for (int i = 0; i < 300 || (found == 0 && i < 100000); ++i) {
    const auto kernel = cache.find("key", "13.0", 13000);
    if (!kernel) continue;
    ++found;
    CHECK(kernel->cubin == cubin_of(char(kernel->cubin.at(0)), 300000));
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  CHECK(found > 0);
  CHECK(FakeLibrary::logged().str().empty());
  CHECK(files_in(folder).size() == 1);
}

TEST_CASE("above the bound what was used longest ago is removed, and no file of another kind", "[cache]") {
  const FakeLibrary fixture;
  const fs::path folder = fixture.path("cache");
  KernelCache cache(folder, 100000);
  cache.keep("0", "13.0", cubin_of('a'));
  write(folder / "notes.txt", std::string(200000, 'n'));
  write(folder / ".new-left", "by a process that was killed");
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(48);
  fs::last_write_time(folder / ".new-left", long_ago);
  const auto make_old = [&] {
    for (const fs::path& file : files_in(folder)) fs::last_write_time(file, long_ago);
  };
  for (int i = 1; i < 40; ++i) cache.keep(std::to_string(i), "13.0", cubin_of('a'));
  make_old();
  CHECK(cache.find("7", "13.0", 13000));  // which makes it young
  for (int i = 40; i < 120; ++i) cache.keep(std::to_string(i), "13.0", cubin_of('a'));
  CHECK(cache.has("7", "13.0"));
  CHECK(cache.has("119", "13.0"));
  int left = 0, of_first = 0;
  for (int i = 0; i < 120; ++i) {
    left += cache.has(std::to_string(i), "13.0");
    of_first += i < 40 && cache.has(std::to_string(i), "13.0");
  }
  CHECK(left <= 100);
  CHECK(left > 70);
  CHECK(of_first < 20);
  CHECK(fs::exists(folder / "notes.txt"));
  CHECK_FALSE(fs::exists(folder / ".new-left"));
}

TEST_CASE("where nothing can be written nothing is kept, and nothing is said", "[cache]") {
  const FakeLibrary fixture;
  write(fixture.path("file"), "in the way");
  KernelCache cache(fixture.path("file") / "cache");
  cache.keep("key", "13.0", cubin_of('a'));
  CHECK_FALSE(cache.find("key", "13.0", 13000));
  KernelCache none{fs::path()};
  none.keep("key", "13.0", cubin_of('a'));
  CHECK_FALSE(none.find("key", "", 13000));
  CHECK_FALSE(none.has("key", "13.0"));
  // A limit on the size of files, which would end the process.
  KernelCache limited(fixture.path("limited"));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{500, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  limited.keep("key", "13.0", cubin_of('a'));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK_FALSE(limited.has("key", "13.0"));
  CHECK(FakeLibrary::logged().str().empty());
}

TEST_CASE("a folder of another user, or one that others may write to, is not used", "[cache]") {
  const FakeLibrary fixture;
  const fs::path folder = fixture.path("cache");
  KernelCache cache(folder);
  cache.keep("key", "13.0", cubin_of('a'));
  const std::size_t files = files_in(folder).size();
  const auto refuses = [&](const std::string& why) {
    FakeLibrary::logged().str("");
    KernelCache other(folder);
    CHECK_FALSE(other.find("key", "13.0", 13000));
    other.keep("another", "13.0", cubin_of('a'));
    CHECK(FakeLibrary::logged().str().find(why) != std::string::npos);
    CHECK(FakeLibrary::logged().str().find(why) == FakeLibrary::logged().str().rfind(why));  // once
    CHECK(files_in(folder).size() == files);
  };
  REQUIRE(::chmod(folder.c_str(), 0770) == 0);
  refuses("may be written to by other users");
  REQUIRE(::chmod(folder.c_str(), 0700) == 0);
  if (::geteuid() != 0) return;  // to give a folder away
  REQUIRE(::chown(folder.c_str(), 65534, 65534) == 0);
  refuses("belongs to another user");
  REQUIRE(::chown(folder.c_str(), 0, 0) == 0);
  REQUIRE(::chown(files_in(folder).at(0).c_str(), 65534, 65534) == 0);
  CHECK_FALSE(cache.find("key", "13.0", 13000));
}

TEST_CASE("TILESMITH_CACHE names the folder, or is off; else it is where caches are", "[cache]") {
  const FakeLibrary fixture;
  const Variable home("HOME", "/home/me"), no_xdg("XDG_CACHE_HOME", "");
  {
    const Variable none("TILESMITH_CACHE", "");
    CHECK(kernel_cache_folder() == "/home/me/.cache/tilesmith/kernels");
    const Variable xdg("XDG_CACHE_HOME", "/caches");
    CHECK(kernel_cache_folder() == "/caches/tilesmith/kernels");
    const Variable relative("XDG_CACHE_HOME", "caches"), no_home("HOME", "");
    CHECK(kernel_cache_folder().empty());
  }
  const Variable off("TILESMITH_CACHE", "off");
  CHECK(kernel_cache_folder().empty());
  const Variable folder("TILESMITH_CACHE", fixture.path("of/mine"));
  CHECK(kernel_cache_folder() == fixture.path("of/mine"));
  CHECK(FakeLibrary::logged().str().empty());
  for (const std::string& bad : {std::string("on"), (fixture.path("file") / "below").string()}) {
    write(fixture.path("file"), "");
    FakeLibrary::logged().str("");
    const Variable wrong("TILESMITH_CACHE", bad);
    CHECK(kernel_cache_folder().empty());
    CHECK(FakeLibrary::logged().str().find("TILESMITH_CACHE is '" + bad + "': expected") != std::string::npos);
  }
}

TEST_CASE(
    "a library loads what another compiled, also where nothing may be compiled, and chooses the same", "[cache]") {
  const FakeLibrary fixture;
  const Variable cache("TILESMITH_CACHE", fixture.path("cache"));
  const fs::path path = fixture.path("without_kernels.db");
  {
    db::Store store = db::Store::open(path);
    store.record(fixture.record(kWhere, FakeLibrary::simt(32), 9.5));
  }
  const fake::FakeNvrtc nvrtc;
  const auto explained = [&](const LibraryOptions& options, const char* problem) {
    return Library::open(path, options).plan(FakeLibrary::problem(problem)).explain();
  };
  CHECK(explained({}, kWhere).kernel == "compiled by NVRTC 12.4");
  CHECK(explained({}, kWhere).kernel == "cached cubin (NVRTC 12.4)");
  CHECK(explained(fake::stored_only(), kWhere).kernel == "cached cubin (NVRTC 12.4)");
  CHECK(fake::compiler().compiled == 1);
  // What is predicted: the same at the second start, although a kernel is there now.
  constexpr const char* kOther = "f16f32 NN 1000 3000 512";
  const Explanation first = explained({}, kOther), second = explained({}, kOther);
  CHECK(first.config == second.config);
  CHECK(first.reason == second.reason);
  const Variable off("TILESMITH_CACHE", "off");
  CHECK(explained({}, kWhere).kernel == "compiled by NVRTC 12.4");
}

TEST_CASE("kernels that make operands are compiled once, too", "[cache]") {
  const FakeLibrary fixture;
  const fake::FakeNvrtc nvrtc;
  const Context context(0);
  KernelCache cache(fixture.path("cache")), none{fs::path()};
  GemmArgs args{};
  HelperKernels(cache).launch(context, true, "source", "entry", 1, &args, nullptr);
  HelperKernels(cache).launch(context, false, "source", "entry", 1, &args, nullptr);
  CHECK(fake::compiler().compiled == 1);
  HelperKernels(cache).launch(context, true, "another", "entry", 1, &args, nullptr);
  CHECK(fake::compiler().compiled == 2);
  CHECK_THROWS_AS(HelperKernels(none).launch(context, false, "source", "entry", 1, &args, nullptr), Error);
}

TEST_CASE("a cached kernel that the device refuses is compiled again", "[cache]") {
  const FakeLibrary fixture;
  const Variable cache("TILESMITH_CACHE", fixture.path("cache"));
  const fake::FakeNvrtc nvrtc;
  const std::string first = Library::without_database().plan(FakeLibrary::problem(kWhere)).explain().kernel;
  CHECK(first == "compiled by NVRTC 12.4");
  fake::state().failures["module_load"] = CUDA_ERROR_INVALID_IMAGE;
  CHECK_THROWS(Library::without_database().plan(FakeLibrary::problem(kWhere)));
  CHECK(fake::compiler().compiled > 1);
}

}  // namespace tilesmith::runtime
