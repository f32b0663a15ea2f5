// What the C interface has beside plans: options, texts that do not dangle, the one call, lists, the log.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/interface/tilesmith.h"
#include "tests/catch.hpp"
#include "tests/runtime/library_fixture.hpp"

using namespace tilesmith;

namespace {

namespace fake = runtime::fake;
using runtime::fake::writable;
using Fixture = runtime::fake::LibraryFixture;

std::string line() { return tilesmith_last_error(); }

}  // namespace

TEST_CASE("a problem is initialised in C with its texts and what differs from nothing", "[api]") {
  const Fixture fixture;
  const tilesmith_problem problem = TILESMITH_PROBLEM_OF("f16f32", "NN", 512, 512, 512);
  CHECK(std::string(problem.type) == "f16f32");
  CHECK(std::string(problem.transposes) == "NN");
  CHECK(problem.beta_is_zero == 1);
  CHECK(problem.align_bytes == 16);
  tilesmith_library* library = nullptr;
  tilesmith_plan* plan = nullptr;
  REQUIRE(tilesmith_open(fixture.small_database().c_str(), 0, &library) == TILESMITH_OK);
  CHECK(tilesmith_plan_create(library, &problem, &plan) == TILESMITH_OK);
  tilesmith_plan_destroy(plan);
  tilesmith_close(library);
}

TEST_CASE("each type pair has a name in C and makes a problem", "[api]") {
  std::vector<std::string> names;
  for (std::int32_t i = 0; i < tilesmith_type_pair_count(); ++i) names.emplace_back(tilesmith_type_pair_name(i));
  REQUIRE(names.size() == type_pairs().size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(names[i] == type_pairs()[i].name);
    CHECK(fake::problem_in_c((names[i] + " TT 3 4 8").c_str()).type == names[i]);
  }
  CHECK(tilesmith_type_pair_name(-1) == nullptr);
  CHECK(tilesmith_type_pair_name(tilesmith_type_pair_count()) == nullptr);
  CHECK(std::string(tilesmith_device(nullptr)).empty());
}

TEST_CASE("the activations of the header are the rows of the table", "[api]") {
  std::ifstream file(TILESMITH_SOURCE_DIR "/runtime/interface/tilesmith.h");
  const std::string header{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = header.find("enum tilesmith_activation {"), end = header.find("} tilesmith_activation;");
  REQUIRE(begin < end);
  const std::string text = header.substr(begin, end - begin);
  std::vector<std::string> in_header, in_table;
  const std::regex constant("TILESMITH_([A-Z_0-9]+) = ([0-9]+)");
  for (std::sregex_iterator found(text.begin(), text.end(), constant); found != std::sregex_iterator{}; ++found)
    in_header.push_back((*found)[1].str() + (*found)[2].str());
  for (const ActivationRow& row : kActivations) {
    std::string name(row.name);
    for (char& c : name) c = char(std::toupper(static_cast<unsigned char>(c)));
    in_table.push_back(name + std::to_string(int(row.value)));
  }
  CHECK(in_header == in_table);
}

TEST_CASE("tilesmith_gemm plans once and reads scales in the type pair's scale type", "[api][gemm]") {
  const Fixture fixture;
  tilesmith_library* library = nullptr;
  const tilesmith_problem problem = TILESMITH_PROBLEM_OF("f16f32", "NN", 512, 512, 512);
  REQUIRE(tilesmith_open(fixture.small_database().c_str(), 0, &library) == TILESMITH_OK);
  const float two = 2;
  const auto gemm = [&](std::uintptr_t a) {
    const tilesmith_run run = fake::run_in_c(a, 0x20000000, 0x30000000, &two);
    return tilesmith_gemm(library, nullptr, &problem, &run);
  };
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  CHECK(gemm(0x10000000) == TILESMITH_NOT_PLANNED);
  CHECK(line().find("f16f32 NN 512 512 512: call prepare()") != std::string::npos);
  fake::state().capture.status = CU_STREAM_CAPTURE_STATUS_NONE;
  CHECK(tilesmith_prepare(library, nullptr, &problem) == TILESMITH_OK);
  fake::state().calls.clear();
  CHECK(gemm(0x10000000) == TILESMITH_OK);
  CHECK(fake::state().calls == std::vector<std::string>{"launch_kernel"});
  CHECK(fake::state().launches.at(0).args.alpha.f32 == 2.0f);
  CHECK(gemm(0x10000001) == TILESMITH_MISALIGNED);
  tilesmith_run run = fake::run_in_c(0x10000000, 0x20000000, 0x30000000);
  CHECK(tilesmith_gemm(nullptr, nullptr, &problem, &run) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_gemm(library, nullptr, nullptr, &run) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_gemm(library, nullptr, &problem, nullptr) == TILESMITH_BAD_ARGUMENT);
  CHECK(line() == "tilesmith_gemm: run is null");
  run.workspace = writable(0x40000000);
  CHECK(tilesmith_gemm(library, nullptr, &problem, &run) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_prepare(library, nullptr, nullptr) == TILESMITH_BAD_ARGUMENT);
  tilesmith_clear_cache(library);
  tilesmith_clear_cache(nullptr);
  tilesmith_close(library);
}

TEST_CASE("options from C keep the library from compiling and from logging misses", "[api]") {
  const Fixture fixture;
  tilesmith_options asked = TILESMITH_OPTIONS;
  CHECK(asked.size == sizeof asked);
  CHECK(asked.device == 0);
  CHECK(asked.allow_compile == 1);
  CHECK(asked.log_misses == 1);
  CHECK(asked.early_in_graphs == 0);
  asked.allow_compile = 0;
  const bool silent = GENERATE(false, true);
  asked.log_misses = silent ? 0 : 1;
  tilesmith_library* library = nullptr;
  REQUIRE(tilesmith_open_with_options(fixture.small_database().c_str(), &asked, &library) == TILESMITH_OK);
  for (const tilesmith_problem& problem : {tilesmith_problem TILESMITH_PROBLEM_OF("f16f32", "NN", 500, 512, 512),
           tilesmith_problem TILESMITH_PROBLEM_OF("f16f32", "TN", 500, 512, 512)}) {
    tilesmith_plan* plan = nullptr;
    const bool is_there = problem.transposes[0] == 'N';  // for TN there is no kernel
    CHECK(tilesmith_plan_create(library, &problem, &plan) == (is_there ? TILESMITH_OK : TILESMITH_NO_KERNEL));
    tilesmith_plan_destroy(plan);
  }
  CHECK(line().find("compiling is switched off") != std::string::npos);
  CHECK(Fixture::logged().str().empty() == silent);
  tilesmith_close(library);
  asked.device = 7;
  CHECK(tilesmith_open_with_options(nullptr, &asked, &library) == TILESMITH_NO_DEVICE);
  CHECK(library == nullptr);
}

TEST_CASE("options of another version's size are read as far as they are known", "[api]") {
  const Fixture fixture;
  struct Longer {
    tilesmith_options known;
    std::int64_t more;
  } longer;
  longer = {TILESMITH_OPTIONS, 0};
  longer.known.size = sizeof longer;
  tilesmith_library* library = nullptr;
  CHECK(tilesmith_open_with_options(nullptr, &longer.known, &library) == TILESMITH_OK);
  tilesmith_close(library);
  longer.more = 1;
  CHECK(tilesmith_open_with_options(nullptr, &longer.known, &library) == TILESMITH_BAD_ARGUMENT);
  CHECK(line().find("a field that version") != std::string::npos);

  tilesmith_options wrong = TILESMITH_OPTIONS;
  CHECK(wrong.trial_database == nullptr);
  wrong.trial_budget = -1;
  CHECK(tilesmith_open_with_options(nullptr, &wrong, &library) == TILESMITH_BAD_ARGUMENT);
  wrong.trial_budget = 0;
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{1} << 40}) {
    wrong.size = size;
    CHECK(tilesmith_open_with_options(nullptr, &wrong, &library) == TILESMITH_BAD_ARGUMENT);
    CHECK(line().find("expected sizeof(tilesmith_options)") != std::string::npos);
  }
  CHECK(tilesmith_open_with_options(nullptr, nullptr, &library) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_open_with_options(nullptr, &wrong, nullptr) == TILESMITH_BAD_ARGUMENT);
}

TEST_CASE("a trial database is named from C, and options from before it name none", "[api][trial]") {
  const Fixture fixture;
  tilesmith_options asked = TILESMITH_OPTIONS;
  const std::string trials = fixture.path("trials.db").string();
  asked.allow_compile = 0;
  asked.trial_budget = 4;
  asked.trial_database = trials.c_str();
  const bool former = GENERATE(false, true);
  if (former) asked.size = offsetof(tilesmith_options, trial_database);
  tilesmith_library* library = nullptr;
  REQUIRE(tilesmith_open_with_options(fixture.small_database().c_str(), &asked, &library) == TILESMITH_OK);
  const tilesmith_problem problem = TILESMITH_PROBLEM_OF("f16f32", "NN", 500, 512, 512);
  tilesmith_plan* plan = nullptr;
  REQUIRE(tilesmith_plan_create(library, &problem, &plan) == TILESMITH_OK);
  tilesmith_explanation why;
  REQUIRE(tilesmith_plan_explain(plan, &why) == TILESMITH_OK);
  CHECK(std::string(why.level) == "trial");
  tilesmith_plan_destroy(plan);
  tilesmith_close(library);
  CHECK(std::filesystem::exists(trials) != former);
}

TEST_CASE("a log callback gets the lines instead of the logger, until it is taken away", "[api]") {
  const Fixture fixture;
  std::vector<std::pair<tilesmith_log_level, std::string>> lines;
  const auto callback = [](void* user, tilesmith_log_level level, const char* text) {
    static_cast<decltype(lines)*>(user)->emplace_back(level, text);
  };
  tilesmith_library* library = nullptr;
  REQUIRE(tilesmith_open(fixture.small_database().c_str(), 0, &library) == TILESMITH_OK);
  const auto miss = [&](std::int64_t m) {
    const tilesmith_problem problem = TILESMITH_PROBLEM_OF("f16f32", "NN", m, 512, 512);
    REQUIRE(tilesmith_prepare(library, nullptr, &problem) == TILESMITH_OK);
  };
  REQUIRE(tilesmith_set_log_callback(callback, &lines) == TILESMITH_OK);
  miss(500);
  REQUIRE(tilesmith_set_log_callback(nullptr, nullptr) == TILESMITH_OK);
  miss(501);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].first == TILESMITH_LOG_WARNING);
  CHECK(lines[0].second.find("f16f32 NN 500 512 512: model level") == 0);
  CHECK(lines[0].second.back() != '\n');
  CHECK(Fixture::logged().str().find("501") != std::string::npos);
  CHECK(Fixture::logged().str().find("500 512 512:") == std::string::npos);
  tilesmith_close(library);
}
