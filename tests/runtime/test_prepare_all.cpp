// The plans of many problems, whose kernels are compiled side by side.
#include <atomic>
#include <set>
#include <thread>

#include "kernels/base/on_all_cores.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/environment_variable.hpp"
#include "tests/runtime/failure_of.hpp"
#include "tests/runtime/fake_nvrtc.hpp"
#include "tests/runtime/library_fixture.hpp"

namespace tilesmith::runtime {
namespace {

using FakeLibrary = fake::LibraryFixture;

std::vector<Problem> problems_of(std::initializer_list<const char*> texts) {
  std::vector<Problem> problems;
  for (const char* text : texts) problems.push_back(FakeLibrary::problem(text));
  return problems;
}

const std::initializer_list<const char*> kFour = {
    "f16f32 NN 512 512 512", "f16f32 NT 512 512 512", "f16f32 NN 512 512 512", "bf16f32 NN 512 512 512"};

void gemm(const Library& library, const Problem& problem) {
  library.gemm(nullptr, problem, 1, fake::address(0x1000000), fake::address(0x2000000), 0, fake::writable(0x3000000));
}

std::string error_of(
    const Library& library, const std::vector<Problem>& problems, const PrepareProgress& progress = {}) {
  try {
    library.prepare_all(problems, progress);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("problems that were prepared are run without compiling, and each kernel was compiled once", "[prepare]") {
  const FakeLibrary fixture;
  const fake::FakeNvrtc nvrtc;
  const Library library = Library::without_database();
  std::vector<std::size_t> steps;
  std::set<std::string> told;
  library.prepare_all(problems_of(kFour), [&](std::size_t done, std::size_t total, const std::string& problem) {
    steps.push_back(done);
    CHECK(total == 4);
    told.insert(problem);
  });
  CHECK(steps == std::vector<std::size_t>{1, 2, 3, 4});
  CHECK(told.size() == 3);  // two are one
  const int compiled = fake::compiler().compiled;
  CHECK(compiled == 3);
  for (const Problem& problem : problems_of(kFour)) gemm(library, problem);
  CHECK(fake::compiler().compiled == compiled);
  library.prepare_all(problems_of(kFour));
  CHECK(fake::compiler().compiled == compiled);
  library.prepare_all({});
}

TEST_CASE("kernels are compiled on several threads, and others plan meanwhile", "[prepare]") {
  if (usable_cores() < 2) return;
  const FakeLibrary fixture;
  const fake::FakeNvrtc nvrtc;
  const Library library = Library::without_database();
  const Problem known = FakeLibrary::problem("f64f64 NN 512 512 512");
  gemm(library, known);
  std::atomic<int> inside{0};
  std::atomic<bool> met{false};
  fake::compiler().while_compiling = [&] {
    const bool is_first = inside++ == 0;
    for (int i = 0; i < 5000 && !met; ++i) {
      if (inside >= 2) met = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (is_first) (void)library.plan(known);  // takes the library's lock
  };
  library.prepare_all(problems_of(kFour));
  fake::compiler().while_compiling = nullptr;
  CHECK(met);
}

TEST_CASE("who plans what is being prepared waits for it", "[prepare]") {
  const FakeLibrary fixture;
  const fake::FakeNvrtc nvrtc;
  const Library library = Library::without_database();
  const std::vector<Problem> problems = problems_of(kFour);
  std::atomic<bool> started{false};
  fake::compiler().while_compiling = [&] {
    started = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  std::thread other([&] {
    while (!started) std::this_thread::yield();
    (void)library.plan(problems[0]);
  });
  library.prepare_all(problems);
  other.join();
  CHECK(fake::compiler().compiled == 3);
}

TEST_CASE("a problem that fails stops no other, and the error names it", "[prepare]") {
  const FakeLibrary fixture;
  const fake::FakeNvrtc nvrtc;
  const Library library = Library::without_database();
  std::vector<Problem> problems = problems_of(kFour);
  problems[1].lda = 3;
  std::size_t told = 0;
  const std::string error = error_of(library, problems, [&](std::size_t, std::size_t, const std::string&) { ++told; });
  CHECK(error.find(text(problems[1])) == 0);
  CHECK(told == 4);
  const int compiled = fake::compiler().compiled;
  gemm(library, problems[0]), gemm(library, problems[3]);
  CHECK(fake::compiler().compiled == compiled);
}

TEST_CASE("a config whose kernel does not compile is passed over, as in a plan", "[prepare]") {
  const FakeLibrary fixture;
  const fake::FakeNvrtc nvrtc;
  std::atomic<int> left{2};
  fake::compiler().refuses = [&](const std::string&) { return left-- > 0; };
  const Library library = Library::without_database();
  library.prepare_all(problems_of({"f16f32 NN 512 512 512"}));
  CHECK(fake::compiler().compiled == 3);
  CHECK(library.plan(FakeLibrary::problem("f16f32 NN 512 512 512")).explain().reason.find("was passed over") !=
        std::string::npos);
}

TEST_CASE("C prepares an array, whatever the size of its structs, and tells the progress to its thread", "[prepare]") {
  const FakeLibrary fixture;
  const fake::FakeNvrtc nvrtc;
  tilesmith_library* library = nullptr;
  REQUIRE(tilesmith_open(nullptr, 0, &library) == TILESMITH_OK);
  std::vector<tilesmith_problem> problems;
  for (const char* text : kFour) problems.push_back(fake::problem_in_c(text));
  std::string told;
  const auto note = [](void* user, std::size_t done, std::size_t total, const char* problem) {
    *static_cast<std::string*>(user) +=
        std::to_string(done) + "/" + std::to_string(total) + (*problem != 0 ? " " : "?");
  };
  CHECK(tilesmith_set_progress_callback(note, &told) == TILESMITH_OK);
  CHECK(tilesmith_prepare_all(library, problems.data(), problems.size()) == TILESMITH_OK);
  CHECK(told == "1/4 2/4 3/4 4/4 ");
  CHECK(tilesmith_set_progress_callback(nullptr, nullptr) == TILESMITH_OK);
  CHECK(tilesmith_prepare_all(library, problems.data(), 0) == TILESMITH_OK);
  CHECK(tilesmith_prepare_all(library, nullptr, 1) == TILESMITH_BAD_ARGUMENT);

  struct Longer {  // of a later version, whose new field is 0
    tilesmith_problem known;
    std::int64_t added = 0;
  };
  std::vector<Longer> longer;
  for (const char* text : {"f16f32 TN 512 512 512", "f16f32 TT 512 512 512", "f16f32 NN 512 512 512"})
    longer.push_back({fake::problem_in_c(text)}), longer.back().known.size = sizeof(Longer);
  const int before = fake::compiler().compiled;
  CHECK(tilesmith_prepare_all(library, &longer[0].known, 3) == TILESMITH_OK);
  CHECK(fake::compiler().compiled == before + 2);

  problems[1].type[0] = '?';
  problems[3] = fake::problem_in_c("tf32f32 NN 512 512 512");
  CHECK(tilesmith_prepare_all(library, problems.data(), problems.size()) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()).find("problem 1: ") == 0);
  CHECK(fake::compiler().compiled == before + 3);  // the last was prepared
  problems[2].size = 8;
  CHECK(tilesmith_prepare_all(library, problems.data(), problems.size()) == TILESMITH_BAD_ARGUMENT);
  problems[0].size = 0;
  CHECK(tilesmith_prepare_all(library, problems.data(), problems.size()) == TILESMITH_BAD_ARGUMENT);
  tilesmith_close(library);
}

}  // namespace tilesmith::runtime
