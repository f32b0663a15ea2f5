#include "db/exchange/export.hpp"

#include <cstdlib>

#include "db/store/store_access.hpp"
#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

Store sample_store() {
  Store store = Store::in_memory();
  store.record(right(28, sample_config(2), sample_problem("f16f32 NN 4096 4096 4096")));
  store.record(right(10.5, sample_config(3), sample_problem("bf16f32 TN 100 200 300 lda=112 align=8 beta=any")));
  Record odd = right(3);
  odd.device = other_device();
  odd.device.name = "Or\"in, \\ ~?";
  odd.origin = "a|b~c";
  store.record(odd);
  // Today no entry is stored that has control characters; a database of before may hold some.
  StoreAccess::database(store).execute(
      "UPDATE devices SET name = replace(name, '~', char(1));"
      "UPDATE records SET origin = replace(origin, '~', char(10))");
  return store;
}

int run(const std::string& command) { return std::system(command.c_str()); }

}  // namespace

TEST_CASE("format names parse, and no other text does") {
  CHECK(parse_export_format("json") == ExportFormat::json);
  CHECK(parse_export_format("markdown") == ExportFormat::markdown);
  CHECK(parse_export_format("header") == ExportFormat::header);
  CHECK_FALSE(parse_export_format("xml"));
}

TEST_CASE("a Markdown export is a table with a line a best") {
  const std::string table = export_best(bests_of(sample_store()), ExportFormat::markdown);
  CHECK(contains(table,
      "| f16f32 | NN | 4096 | 4096 | 4096 |  | NVIDIA H200/sm_90/132SM/L2=62914560/smem=233472/4800GBps | `wmma{frag_m=16,stages=2}` | 28.00 | 4908."));
  CHECK(contains(table, "| K | options | device |"));
  CHECK(contains(table, "| 300 | lda=112 align=8 beta=any |"));
  CHECK(contains(table, "/MAXN | "));
  CHECK(std::count(table.begin(), table.end(), '\n') == 5);
  RecordFilter packed;
  packed.type = "f16f32";
  CHECK(contains(export_best(bests_of(sample_store(), packed), ExportFormat::markdown),
      "| 4096 | 4096 | 4096 | NVIDIA H200/sm_90/132SM/"));
}

TEST_CASE("an exported header compiles and answers by problem and by parameter name") {
  TemporaryFolder folder;
  spill(folder / "best.hpp", export_best(bests_of(sample_store()), ExportFormat::header));
  spill(folder / "lookup.cpp", R"(#include "best.hpp"
#include "best.hpp"
using namespace tilesmith_best;
static_assert(kEntries.size() == 3);
constexpr const Entry* square = find("f16f32", "NN", 4096, 4096, 4096);
static_assert(square->median_us == 28 && square->samples == 21);
static_assert(square->trust == "valid");
static_assert(parameter(*square, "stages", 0) == 2 && parameter(*square, "frag_m", 0) == 16);
static_assert(parameter(*square, "m", -7) == -7, "only whole names match");
static_assert(find("f16f32", "NN", 4096, 4096, 4095) == nullptr);
static_assert(find("f16f32", "NN", 4096, 4096, 4096, "Orin") == nullptr);
static_assert(find("bf16f32", "TN", 100, 200, 300) == nullptr, "other row strides");
static_assert(find("bf16f32", "TN", 100, 200, 300, "NVIDIA H200", 112, 0, 0, "any")->k == 300);
int main() {
  const Entry* odd = find("f16f32", "NN", 64, 64, 64, "Or\"in, \\ \001?");
  return odd != nullptr && odd->power_mode == "MAXN" && odd->origin == "a|b\nc" ? 0 : 1;
}
)");
  const std::string compiler = "c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror ";
  REQUIRE(run(compiler + "-fsyntax-only -x c++ " + (folder / "best.hpp").string()) == 0);
  REQUIRE(run(compiler + (folder / "lookup.cpp").string() + " -o " + (folder / "lookup").string()) == 0);
  CHECK(run((folder / "lookup").string()) == 0);
}

TEST_CASE("a header's entries of devices of one name are told apart, and never mixed") {
  Store store = Store::in_memory();
  for (const int sms : {14, 16}) {
    Record entry = right(100 - sms);
    entry.device = other_device();
    entry.device.sm_count = sms;
    store.record(entry);
  }
  store.record(right(7, sample_config(2), sample_problem("f16f32 NN 64 64 64 align=2")));
  store.record(right(9));
  store.record(right(3, sample_config(2), sample_problem("f16f32 NN 64 64 64 batch=5 stride_b=0 batch_mode=strided")));
  store.record(right(4, sample_config(2), sample_problem("f16f32 NN 64 64 64 beta=any epilogue=relu")));
  TemporaryFolder folder;
  spill(folder / "lookup.cpp", export_best(bests_of(store), ExportFormat::header) + R"(
using namespace tilesmith_best;
constexpr std::string_view k14 = "Orin/sm_87/14SM/L2=4194304/smem=167936/200GBps/MAXN";
static_assert(find("f16f32", "NN", 64, 64, 64, k14)->sm_count == 14 && find("f16f32", "NN", 64, 64, 64, k14)->median_us == 86);
static_assert(find("f16f32", "NN", 64, 64, 64, "Orin") == nullptr, "two devices have the name");
static_assert(find("f16f32", "NN", 64, 64, 64) == nullptr, "three devices match");
static_assert(find("f16f32", "NN", 64, 64, 64, "NVIDIA H200")->median_us == 9, "the larger alignment");
static_assert(find("f16f32", "NN", 64, 64, 64, "NVIDIA H200", 0, 0, 0, "zero", 2)->problem == "f16f32 NN 64 64 64 align=2");
static_assert(find("f16f32", "NN", 64, 64, 64, {}, 0, 0, 0, "zero", 0, "batch=5 stride_b=0 batch_mode=strided")->median_us == 3);
static_assert(find("f16f32", "NN", 64, 64, 64, {}, 0, 0, 0, "any", 0, "epilogue=relu")->median_us == 4);
static_assert(find("f16f32", "NN", 64, 64, 64, {}, 0, 0, 0, "any") == nullptr, "none without an epilogue");
)");
  CHECK(run("c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only " + (folder / "lookup.cpp").string()) == 0);
}

TEST_CASE("a header of no bests compiles too") {
  TemporaryFolder folder;
  spill(folder / "lookup.cpp", export_best({}, ExportFormat::header) +
                                   "static_assert(tilesmith_best::find(\"f16f32\", \"NN\", 1, 1, 1) == nullptr);\n");
  CHECK(run("c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only " + (folder / "lookup.cpp").string()) == 0);
}
