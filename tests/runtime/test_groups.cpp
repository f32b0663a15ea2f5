// Grouped problems in C and C++, without a device.
#include <string>

#include "runtime/interface/gemm.hpp"
#include "runtime/interface/tilesmith.h"
#include "tests/catch.hpp"
#include "tests/runtime/library_fixture.hpp"

using namespace tilesmith;

namespace {

namespace fake = runtime::fake;
using GroupsFixture = runtime::fake::LibraryFixture;

std::string groups_line() { return tilesmith_last_error(); }

std::string groups_database(const GroupsFixture& fixture) {
  const char* const where = "f16f32 NN 1 1 1 batch_mode=grouped";
  db::Store::open(fixture.path("groups.db"))
      .record_build(fixture.build(where, generic_config(fixture.target(fixture.problem(where)))));
  return fixture.path("groups.db").string();
}

}  // namespace

TEST_CASE("groups in C are a batch mode, and a run is given their ends", "[api][groups]") {
  const GroupsFixture fixture;
  tilesmith_library* const library = fake::open_stored_in_c(groups_database(fixture));
  tilesmith_problem groups = TILESMITH_PROBLEM_OF("f16f32", "TN", 16, 24, 32);
  groups.batch_mode = TILESMITH_GROUPED;
  groups.batch = 3;
  tilesmith_run run = fake::run_in_c(0x10000000, 0x20000000, 0x30000000);
  const auto gemm = [&] { return tilesmith_gemm(library, nullptr, &groups, &run); };
  CHECK(gemm() == TILESMITH_BAD_ARGUMENT);
  CHECK(groups_line().find("expected NN or NT") != std::string::npos);
  groups.transposes[0] = 'N';
  groups.batch = 65537;
  CHECK(gemm() == TILESMITH_BAD_ARGUMENT);
  CHECK(groups_line().find("batch is 65537: expected 0 to 65536") != std::string::npos);
  groups.batch = 3;
  CHECK(gemm() == TILESMITH_BAD_ARGUMENT);
  CHECK(groups_line().find("offsets") != std::string::npos);
  run.operands[TILESMITH_OFFSETS] = fake::address(0x40000002);
  CHECK(gemm() == TILESMITH_MISALIGNED);
  run.operands[TILESMITH_OFFSETS] = fake::address(0x30000010);
  CHECK(gemm() == TILESMITH_BAD_ARGUMENT);
  CHECK(groups_line().find("overlaps") != std::string::npos);
  run.operands[TILESMITH_OFFSETS] = fake::address(0x40000004);
  REQUIRE(gemm() == TILESMITH_OK);
  const fake::LaunchRecord launch = fake::state().launches.at(0);
  CHECK(launch.args.batch == 3);
  CHECK(launch.args.stride_a == 0);
  CHECK(launch.args.stride_b == 32 * 24);
  CHECK(launch.args.stride_c == 0);
  CHECK(launch.args.ends == fake::address(0x40000004));
  REQUIRE(launch.args.fault != nullptr);
  groups.stride_b = -5;
  CHECK(gemm() == TILESMITH_BAD_ARGUMENT);
  CHECK(groups_line().find("stride_b is -5: expected 0 to") != std::string::npos);
  groups.batch = 0;
  groups.stride_b = TILESMITH_PACKED;
  CHECK(gemm() == TILESMITH_OK);
  CHECK(fake::state().launches.size() == 1);
  tilesmith_close(library);
}

TEST_CASE("a wrong end that a kernel reported is told once, by the next run of groups, which launches nothing",
    "[api][groups]") {
  const GroupsFixture fixture;
  const Library library = Library::open(groups_database(fixture), fake::stored_only());
  const Problem groups = fixture.problem("f16f32 NN 16 24 32 batch=3 batch_mode=grouped");
  Operands run;
  run.a = fake::address(0x10000000);
  run.b = fake::address(0x20000000);
  run.d = fake::writable(0x30000000);
  run.offsets = fake::address(0x40000000);
  library.gemm(nullptr, groups, run);
  *fake::state().launches.at(0).args.fault = 2;
  try {
    library.gemm(nullptr, groups, run);
    FAIL("expected an error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_argument);
    CHECK(std::string(error.what()).find("group 1 ended before") != std::string::npos);
  }
  CHECK(fake::state().launches.size() == 1);
  library.gemm(nullptr, groups, run);
  CHECK(fake::state().launches.size() == 2);
}

TEST_CASE("C of groups is not copied to another D: rows of no group would be written", "[api][groups]") {
  const GroupsFixture fixture;
  const Library library = Library::open(groups_database(fixture), fake::stored_only());
  const Problem groups = fixture.problem("f16f32 NN 16 24 32 beta=any batch=3 batch_mode=grouped");
  Operands run;
  run.a = fake::address(0x10000000);
  run.b = fake::address(0x20000000);
  run.beta = 1;
  run.c = fake::address(0x50000000);
  run.d = fake::writable(0x30000000);
  run.offsets = fake::address(0x40000000);
  try {
    library.gemm(nullptr, groups, run);
    FAIL("expected an error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("c_apart") != std::string::npos);
  }
  CHECK(fake::state().copies.empty());
}
