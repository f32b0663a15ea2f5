// Kernels of one's own on the command line, and their records where the commands are about problems.
#include <fstream>

#include "db/store/store.hpp"
#include "kernels/families/user/load.hpp"
#include "tests/catch.hpp"
#include "tests/kernel_folder.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("space shows the parameters and rules of a kernel of one's own at its sizes") {
  const TempFolder here;
  const KernelFolder folder;
  const std::string path = folder.path().string();
  const Finished shown = run(here, {"space", "--kernel", path, "--arch", "sm_87"});
  CHECK(shown.status == 0);
  CHECK(has(shown.out, "kernel row_softmax rows=4096 cols=1000 on sm_87"));
  CHECK(has(shown.out, "64 128 256 512 1024"));
  CHECK(has(shown.out, "20 combinations"));
  CHECK(has(shown.out, "a row needs some bytes in flight"));
  CHECK(has(shown.out, "17 legal configs"));
  const Finished listed =
      run(here, {"space", "--kernel", path, "--sizes", "rows=1,cols=3", "--arch", "sm_90a", "--list"});
  CHECK(listed.status == 0);
  CHECK(std::count(listed.out.begin(), listed.out.end(), '\n') == 17);
  CHECK(has(listed.out, "row_softmax{block=64,per_thread=4}\n"));
}

TEST_CASE("what is wrong with a kernel of one's own, or with its sizes, is one line") {
  const TempFolder here;
  KernelFolder folder;
  const std::string path = folder.path().string();
  const auto refused = [&](std::vector<std::string> arguments, const std::string& part) {
    arguments.insert(arguments.end(), {"--arch", "sm_87"});
    const Finished result = run(here, arguments);
    INFO(result.err);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK(has(result.err, part));
  };
  refused({"space", "--kernel", path, "--sizes", "rows"}, "--sizes 'rows': expected a size and its value");
  refused({"space", "--kernel", path, "--sizes", "rows=x"}, "--sizes 'rows=x'");
  refused({"space", "--kernel", path, "--sizes", "rows=0"}, "rows is 0: expected 1 to");
  refused({"space", "--kernel", path, "--sizes", "wide=3"}, "expected rows, cols");
  refused({"space", "--kernel", path + "/gone"}, "is no folder");
  refused({"space", "--kernel", path, "--family", "simt"}, "--kernel");
  refused({"space"}, "--family");
  folder.with("\"launch\"", "\"lunch\"");
  refused({"space", "--kernel", path}, "kernel.json: lunch: unknown field");
}

TEST_CASE("tune takes kernels of one's own beside problems, from options and workloads") {
  const TempFolder here;
  KernelFolder folder;
  const std::string path = folder.path().string(), workload = here / "w.txt";
  std::ofstream(workload) << "kernel row_softmax cols=77 2\nf16f32 NN 64 64 64\nkernel row_softmax\n";
  const Finished both = run(here, {"tune", "--kernel", path, "--workload", workload, "--dry-run", "--arch", "sm_87"});
  INFO(both.err);
  CHECK(both.status == 0);
  CHECK(has(both.out, "kernel row_softmax rows=4096 cols=77"));
  CHECK(has(both.out, "kernel row_softmax rows=4096 cols=1000: 17 legal configs"));
  CHECK(has(both.out, "f16f32 NN"));
  const Finished alone = run(here, {"tune", "--kernel", path, "--sizes", "rows=3", "--dry-run", "--arch", "sm_87"});
  CHECK(has(alone.out, "1 problem, at most 17 candidates"));

  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& part) {
    const Finished result = run(here, arguments);
    INFO(result.err);
    CHECK(result.status == 2);
    CHECK(has(result.err, part));
  };
  refused({"tune", "--workload", workload, "--dry-run", "--arch", "sm_87"},
      "w.txt:1: the kernel 'row_softmax' is not loaded");
  refused({"verify", "--workload", workload}, "is not loaded");
  refused({"compile", "--workload", workload, "--family-dir", path, "--arch", "sm_87"}, "expected GEMM problems alone");
  refused({"tune", "--sizes", "rows=3"}, "--kernel");
  folder.with(R"("reference": {"source": "softmax.cu", "entry": "naive", "launch": {"grid": "rows", "block": 1}},)", "")
      .with(R"("tolerance": {"out": {"relative": 1e-5}},)", "");
  refused({"tune", "--kernel", path, "--dry-run", "--arch", "sm_87"}, "or --unproven");
  CHECK(run(here, {"tune", "--kernel", path, "--unproven", "--dry-run", "--arch", "sm_87"}).status == 0);
}

TEST_CASE("query shows the bests and records of a kernel of one's own, and what is unproven") {
  const TempFolder here;
  KernelFolder folder("unproven_softmax");
  folder.with(R"("reference": {"source": "softmax.cu", "entry": "naive", "launch": {"grid": "rows", "block": 1}},)", "")
      .with(R"("tolerance": {"out": {"relative": 1e-5}},)", "");
  load_family_dir(folder.path());
  const std::string path = here / "tuned.db", kernel = folder.path().string();
  {
    db::Store store = db::Store::open(path);
    std::vector<db::Record> entries = made_record({packed_problem({*find_type_pair("f16f32"), {}}, 64, 64, 64)}, 2);
    for (db::Record& entry : entries) {
      entry.task = SizedKernel{"unproven_softmax", {{"rows", 4096}, {"cols", 1000}}};
      entry.config = Config("unproven_softmax", {{"block", &entry == &entries[0] ? 64 : 128}, {"per_thread", 8}});
      entry.plan_hash = own::plan_hash(entry.config, entry.task.kernel(), entry.environment.compiler_options);
    }
    store.record(entries);
  }
  CHECK(run(here, {"query", "--db", path}).out.empty());
  const Finished all = run(here, {"query", "--kernel", "unproven_softmax", "--all", "--db", path});
  CHECK(has(all.out, "unproven_softmax rows=4096 cols=1000"));
  CHECK(has(all.out, "unproven_softmax{block=64,per_thread=8}"));
  const Finished json = run(here, {"query", "--kernel", kernel, "--all", "--format", "json", "--db", path});
  CHECK(has(json.out, "\"problem\": \"kernel unproven_softmax rows=4096 cols=1000\""));
  CHECK(has(json.out, "\"trans\": null"));
  const Finished best = run(here, {"query", "--kernel", kernel, "--retired", "--db", path});
  CHECK(has(best.out, "unproven_softmax rows=4096 cols=1000"));
  CHECK(has(best.out, "unproven"));
  const std::string page = here / "report.html";
  CHECK(run(here, {"report", "--family-dir", kernel, "--out", page, "--db", path}).status == 0);
  std::ifstream in(page);
  CHECK(has(std::string(std::istreambuf_iterator<char>(in), {}), "unproven_softmax rows=4096 cols=1000"));
  const Finished why = run(here, {"explain", "--kernel", kernel, "--sizes", "rows=5", "--db", path});
  CHECK(has(why.out, "measured at kernel unproven_softmax rows=4096 cols=1000"));
}

TEST_CASE("records of kernels of one's own are kept, and disturb no command that is about problems") {
  const TempFolder folder;
  const std::string path = folder / "tuned.db", other = folder / "other.db";
  {
    db::Store store = db::Store::open(path);
    std::vector<db::Record> entries = made_record({packed_problem({*find_type_pair("f16f32"), {}}, 64, 64, 64)}, 3);
    db::Record own = entries.front();
    own.task = SizedKernel{"blur", {{"n", 100}}};
    own.config = Config("blur", {{"block", 64}});
    own.plan_hash = "";
    entries.push_back(own);
    store.record(entries);
  }
  const std::vector<std::vector<std::string>> commands{{"query"}, {"query", "--all"}, {"query", "--retired"},
      {"query", "--sql", "SELECT count(*) FROM best"}, {"export", "--format", "json"}, {"export", "--format", "csv"},
      {"export", "--format", "markdown"}, {"report", "--out", folder / "report.html"},
      {"export", "--format", "recording", "--output", folder / "r.jsonl"}, {"compare", path},
      {"explain", "f16f32", "NN", "64", "64", "64"}, {"renew", "--list"}};
  for (std::vector<std::string> command : commands) {
    command.insert(command.end(), {"--db", path});
    const Finished result = run(folder, command);
    INFO(command[0] << " " << command[1] << ": " << result.err);
    CHECK_FALSE(has(result.err, "internal"));
    CHECK(result.status < 3);
    CHECK_FALSE(has(result.err, "expected a GEMM problem"));
  }
  const Finished merge = run(folder, {"merge", path, "--db", other});
  INFO(merge.err);
  CHECK(merge.status == 0);
  const db::Store merged = db::Store::open_read_only(other);
  const std::vector<db::Record> kept = merged.records({.task = Task(SizedKernel{"blur", {{"n", 100}}})});
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].config.text() == "blur{block=64}");
}
