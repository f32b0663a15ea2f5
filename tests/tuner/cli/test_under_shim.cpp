// `tilesmith capture` and `tilesmith run`: with what environment a program is started, and what is refused before it is.
#include <filesystem>

#include "tests/catch.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith::tests;

namespace {

/// A folder with files named as the shims are; none of them is one.
void make_shims(const TempFolder& folder) {
  for (const char* major : {"12", "13"}) {
    const std::filesystem::path by_name = folder / ("shims/tilesmith-cublas" + std::string(major));
    std::filesystem::create_directories(by_name);
    write_file(by_name / ("libcublas.so." + std::string(major)), "");
    const std::filesystem::path lt_by_name = folder / ("shims/tilesmith-cublaslt" + std::string(major));
    std::filesystem::create_directories(lt_by_name);
    write_file(lt_by_name / ("libcublasLt.so." + std::string(major)), "");
    write_file(folder / ("shims/libtilesmith-cublas" + std::string(major) + ".so"), "");
  }
}

constexpr const char* kSay = "echo $TILESMITH_CUBLAS,$TILESMITH_DB,$TILESMITH_CAPTURE,$LD_PRELOAD; echo buckets $TILESMITH_CAPTURE_BUCKETS; exit 7";

}  // namespace

TEST_CASE("capture and run start the program with the shims before it, and end as it does") {
  const TempFolder folder;
  make_shims(folder);
  write_file(folder / "app.db", "");
  const std::string at = std::filesystem::canonical(folder / "shims").string();
  const Finished captured = run(folder, {"capture", "-o", "app.workload", "--shim-dir", "shims", "--", "sh", "-c", kSay});
  CHECK(captured.status == 7);
  CHECK(contains(captured.out, "capture,"));
  CHECK(contains(captured.out, "/app.workload,"));
  CHECK(contains(captured.out, at + "/libtilesmith-cublas13.so:" + at + "/libtilesmith-cublas12.so\n"));
  CHECK(contains(captured.out, "buckets powers\n"));
  CHECK(contains(run(folder, {"capture", "-o", "app.workload", "--buckets", "1-64,128", "--shim-dir", "shims", "--", "sh", "-c", kSay}).out, "buckets 1-64,128\n"));
  const Finished served = run(folder, {"run", "--db", "app.db", "--shim-dir", "shims", "--", "sh", "-c", kSay});
  CHECK(served.status == 7);
  CHECK(contains(served.out, "run,"));
  CHECK(contains(served.out, "/app.db,,"));
  const Finished checked = run(folder, {"run", "--check", "--by-name", "12", "--db", "app.db", "--shim-dir", "shims", "--", "sh", "-c", kSay});
  CHECK(contains(checked.out, "check,"));
  CHECK(contains(checked.out, at + "/tilesmith-cublas12/libcublas.so.12\n"));
  const Finished both = run(folder, {"run", "--by-name", "13", "--lt-too", "--db", "app.db", "--shim-dir", "shims", "--", "sh", "-c", kSay});
  CHECK(contains(both.out, at + "/tilesmith-cublas13/libcublas.so.13:" + at + "/tilesmith-cublaslt13/libcublasLt.so.13\n"));
}

TEST_CASE("what a program cannot be started with is one line, and the program is not started") {
  const TempFolder folder;
  make_shims(folder);
  write_file(folder / "there.workload", "mine");
  const auto refused = [&](std::vector<std::string> arguments, const char* part) {
    arguments.insert(arguments.end(), {"--", "sh", "-c", "echo started"});
    const Finished finished = run(folder, arguments);
    INFO(finished.err);
    CHECK(finished.status == 2);
    CHECK(finished.out.empty());
    CHECK(contains(finished.err, part));
  };
  refused({"capture", "-o", "there.workload", "--shim-dir", "shims"}, "there.workload: exists");
  refused({"capture", "-o", "app.workload", "--buckets", "some", "--shim-dir", "shims"}, "--buckets 'some': expected powers, none, or sizes and ranges");
  refused({"capture", "-o", "none/app.workload", "--shim-dir", "shims"}, "a folder that exists");
  refused({"run", "--db", "none.db", "--shim-dir", "shims"}, "none.db: no such file");
  refused({"run", "--db", "there.workload", "--shim-dir", "none"}, "libtilesmith-cublas13.so: no such file; expected the shim there");
  refused({"run", "--lt-too", "--db", "there.workload", "--shim-dir", "shims"}, "--by-name");
  refused({"run", "--by-name", "11", "--shim-dir", "shims"}, "--by-name");
  const Finished nothing = run(folder, {"run", "--db", "there.workload", "--shim-dir", "shims", "--", "no-such-program"});
  CHECK(nothing.status == 2);
  CHECK(contains(nothing.err, "no-such-program: could not be started"));
  CHECK(contains(run(folder, {"run", "--shim-dir", "shims"}).err, "COMMAND is required"));
}
