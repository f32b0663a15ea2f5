// `tilesmith capture` and `tilesmith run`: with what environment a program is started, and what is refused before it
// is.
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <regex>

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

constexpr const char* kSay =
    "echo $TILESMITH_CUBLAS,$TILESMITH_DB,$TILESMITH_CAPTURE,$LD_PRELOAD; echo buckets $TILESMITH_CAPTURE_BUCKETS; exit 7";

}  // namespace

TEST_CASE("capture and run start the program with the shims before it, and end as it does") {
  const TempFolder folder;
  make_shims(folder);
  write_file(folder / "app.db", "");
  const std::string at = std::filesystem::canonical(folder / "shims").string();
  const Finished captured =
      run(folder, {"capture", "-o", "app.workload", "--shim-dir", "shims", "--", "sh", "-c", kSay});
  CHECK(captured.status == 7);
  CHECK(contains(captured.out, "capture,"));
  CHECK(contains(captured.out, "/app.workload,"));
  CHECK(contains(captured.out, at + "/libtilesmith-cublas13.so:" + at + "/libtilesmith-cublas12.so\n"));
  CHECK(contains(captured.out, "buckets powers\n"));
  CHECK(contains(run(folder, {"capture", "-o", "app.workload", "--buckets", "1-64,128", "--shim-dir", "shims", "--",
                                 "sh", "-c", kSay})
                     .out,
      "buckets 1-64,128\n"));
  const Finished served = run(folder, {"run", "--db", "app.db", "--shim-dir", "shims", "--", "sh", "-c", kSay});
  CHECK(served.status == 7);
  CHECK(contains(served.out, "run,"));
  CHECK(contains(served.out, "/app.db,,"));
  const Finished checked = run(
      folder, {"run", "--check", "--by-name", "12", "--db", "app.db", "--shim-dir", "shims", "--", "sh", "-c", kSay});
  CHECK(contains(checked.out, "check,"));
  CHECK(contains(checked.out, at + "/tilesmith-cublas12/libcublas.so.12\n"));
  const Finished both = run(
      folder, {"run", "--by-name", "13", "--lt-too", "--db", "app.db", "--shim-dir", "shims", "--", "sh", "-c", kSay});
  CHECK(contains(
      both.out, at + "/tilesmith-cublas13/libcublas.so.13:" + at + "/tilesmith-cublaslt13/libcublasLt.so.13\n"));
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
  refused({"capture", "-o", "app.workload", "--buckets", "some", "--shim-dir", "shims"},
      "--buckets 'some': expected powers, none, or sizes and ranges");
  refused({"capture", "-o", "none/app.workload", "--shim-dir", "shims"}, "a folder that exists");
  refused({"capture", "-o", "/proc/app.workload", "--shim-dir", "shims"},
      "/proc/app.workload: No such file or directory; expected a file in a folder");
  refused({"capture", "-o", std::string(250, 'x'), "--shim-dir", "shims"}, "File name too long");
  std::filesystem::create_symlink("nowhere", folder / "link.workload");
  refused({"capture", "-o", "link.workload", "--shim-dir", "shims"}, "link.workload: exists");
  refused({"run", "--db", "none.db", "--shim-dir", "shims"}, "none.db: no such file");
  refused({"run", "--db", "there.workload", "--shim-dir", "none"},
      "libtilesmith-cublas13.so: no such file; expected the shim there");
  refused({"run", "--lt-too", "--db", "there.workload", "--shim-dir", "shims"}, "--by-name");
  refused({"run", "--by-name", "11", "--shim-dir", "shims"}, "--by-name");
  const Finished nothing =
      run(folder, {"run", "--db", "there.workload", "--shim-dir", "shims", "--", "no-such-program"});
  CHECK(nothing.status == 2);
  CHECK(contains(nothing.err, "no-such-program: could not be started"));
  CHECK(contains(run(folder, {"run", "--shim-dir", "shims"}).err, "COMMAND is required"));
}

TEST_CASE("capture replaces what a process that has ended captured, and no other file") {
  const TempFolder folder;
  make_shims(folder);
  const auto capture = [&] {
    return run(folder, {"capture", "-o", "app.workload", "--shim-dir", "shims", "--", "sh", "-c", "echo started"});
  };
  write_file(folder / "app.workload", fmt::format("# calls of cuBLAS by process {}\nweights calls\n", ::getpid()));
  CHECK(capture().status == 2);
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  ::waitpid(ended, nullptr, 0);
  write_file(folder / "app.workload", fmt::format("# calls of cuBLAS by process {}\nweights calls\n", ended));
  CHECK(capture().status == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "app.workload"));
}

TEST_CASE("capture names the files that the program's processes left, and the line that tunes them all") {
  const TempFolder folder;
  make_shims(folder);
  const std::string at = (folder.path() / "an app's.workload").string();
  write_file(at + ".1", "weights calls\nf16f32 NN 8 8 8 7\n");  // of an earlier capture
  const char* const program =
      "{ echo weights calls; echo f16f32 NN 8 8 8 7; echo f16f32 NN 16 8 8 3; echo f16f32 NN 32 8 8 3 ' # not seen'; } > \"$TILESMITH_CAPTURE\"; "
      "{ echo weights calls; echo f16f32 NN 8 8 8 1; } > \"$TILESMITH_CAPTURE.4711\"; echo '# left out, 4 calls: stride_c is 0' > "
      "\"$TILESMITH_CAPTURE.4711.2\"; "
      "echo half > \"$TILESMITH_CAPTURE.part4712.1\"; exit 5";
  const Finished finished =
      run(folder, {"capture", "-o", "an app's.workload", "--shim-dir", "shims", "--", "sh", "-c", program});
  INFO(finished.err);
  CHECK(finished.status == 5);
  CHECK(finished.out.empty());
  CHECK(contains(finished.err,
      "tilesmith capture: an app's.workload: 2 problems, 10 calls\n"
      "tilesmith capture: an app's.workload.4711: 1 problem, 1 call\n"
      "tilesmith capture: an app's.workload.4711.2: 0 problems, 0 calls\n"
      "tilesmith capture: left out, 4 calls: stride_c is 0\n"));
  const std::string line = "tilesmith tune --workload 'an app'\\''s.workload' --workload 'an app'\\''s.workload.4711' ";
  CHECK(contains(finished.err, "tilesmith capture: next: " + line + "--budget 8h --db app.db\n"));
  CHECK(shell(folder, line + "--dry-run --arch sm_90a > listed") == 0);
  CHECK(std::regex_search(read_file(folder / "listed"), std::regex("\nf16f32 NN 8 8 8 +8 *\n")));
  CHECK(contains(read_file(folder / "listed"), "3 problems"));
}

TEST_CASE("capture writes to stdout behind what the program writes, and leaves no folder") {
  const TempFolder folder;
  make_shims(folder);
  std::filesystem::create_directory(folder / "tmp");
  const char* const program =
      "echo 'weights calls\nf16f32 NN 8 8 8 7' > \"$(echo $TILESMITH_CAPTURE | sed s/%p/1/)\"; echo from the program";
  const Finished finished = run(
      folder, {"capture", "-o", "-", "--shim-dir", "shims", "--", "sh", "-c", program}, {{"TMPDIR", folder / "tmp"}});
  CHECK(finished.status == 0);
  CHECK(finished.out == "from the program\nweights calls\nf16f32 NN 8 8 8 7\n");
  CHECK_FALSE(contains(finished.err, "next: "));
  CHECK(std::filesystem::is_empty(folder / "tmp"));
}

TEST_CASE("a program that multiplied nothing leaves one line, and its own exit status") {
  const TempFolder folder;
  make_shims(folder);
  const Finished finished =
      run(folder, {"capture", "-o", "app.workload", "--shim-dir", "shims", "--", "sh", "-c", "exit 7"});
  CHECK(finished.status == 7);
  CHECK(contains(finished.err,
      "no product was captured, and app.workload was not written; a program that opens cuBLAS by name needs --by-name 12 or 13; "
      "cuBLAS that is linked statically cannot be captured\n"));
  CHECK_FALSE(contains(
      run(folder, {"capture", "-o", "app.workload", "--by-name", "12", "--shim-dir", "shims", "--", "true"}).err,
      "--by-name"));
}

TEST_CASE(
    "shims in a folder that LD_PRELOAD cannot hold are preloaded by a link, which is there as long as the program") {
  const TempFolder folder;
  make_shims(folder);
  write_file(folder / "app.db", "");
  std::filesystem::create_directory(folder / "tmp");
  for (const char* name : {"with spaces", "with:colon", "with$LIB"}) {
    INFO(name);
    std::filesystem::rename(folder / "shims", folder / name);
    for (const auto& command :
        {std::vector<std::string>{"capture", "-o", "app.workload"}, {"run", "--db", "app.db", "--by-name", "12"}}) {
      std::vector<std::string> words = command;
      words.insert(words.end(), {"--shim-dir", name, "--", "sh", "-c",
                                    "for one in $(echo $LD_PRELOAD | tr : ' '); do ls -L $one; done; exit 3"});
      const Finished finished = run(folder, words, {{"TMPDIR", folder / "tmp"}});
      CHECK(finished.status == 3);
      CHECK(lines_of(finished.out) == (command.front() == "run" ? 1 : 2));
      CHECK(contains(finished.out, command.front() == "run" ? "/shims/tilesmith-cublas12/libcublas.so.12\n"
                                                            : "/shims/libtilesmith-cublas12.so\n"));
      CHECK(std::filesystem::is_empty(folder / "tmp"));
    }
    std::filesystem::rename(folder / name, folder / "shims");
  }
}

TEST_CASE("signals reach a captured program, and capture ends as it does") {
  const TempFolder folder;
  make_shims(folder);
  const auto start = [&](const std::string& program) {
    auto started = std::make_unique<Started>(folder,
        std::vector<std::string>{"capture", "-o", "app.workload", "--shim-dir", "shims", "--", "sh", "-c", program});
    for (int i = 0; i < 500 && !std::filesystem::exists(folder / "ready"); ++i) usleep(10000);
    std::filesystem::remove(folder / "ready");
    return started;
  };
  const auto catching = start("trap 'exit 9' TERM; touch ready; while :; do sleep 0.01; done");
  catching->signal(SIGTERM);
  CHECK(catching->wait().status == 9);
  const auto plain = start("touch ready; exec sleep 60");
  plain->signal(SIGTERM);
  CHECK(plain->wait().status == 1000 + SIGTERM);
  const auto crashing = start("touch ready; kill -SEGV $$");
  CHECK(crashing->wait().status == 1000 + SIGSEGV);
  const auto killed = start("echo $$ > pid; touch ready; exec sleep 60");
  killed->signal(SIGKILL);
  CHECK(killed->wait().status == 1000 + SIGKILL);
  const pid_t program = std::stoi(read_file(folder / "pid"));
  for (int i = 0; i < 500 && ::kill(program, 0) == 0; ++i) usleep(10000);
  CHECK(::kill(program, 0) != 0);
}

TEST_CASE("a working folder that was removed is named in a line") {
  const TempFolder folder;
  make_shims(folder);
  const std::string shims = " --shim-dir '" + (folder / "shims") + "' -- true ";
  CHECK(shell(folder, "mkdir gone && cd gone && rmdir \"$PWD\" && ! tilesmith capture -o x" + shims + "2>$HOME/said") ==
        0);
  CHECK(
      contains(read_file(folder / "said"), "the working folder: No such file or directory; expected one that exists"));
  CHECK(shell(folder, "mkdir gone && cd gone && rmdir \"$PWD\" && tilesmith capture -o $HOME/x" + shims) == 0);
}

TEST_CASE(
    "run --prepare reads its workload before anything starts, and the program starts where nothing can be prepared") {
  const TempFolder folder;
  make_shims(folder);
  write_file(folder / "app.workload", "f16f32 NN 64 64 64 3\n");
  write_file(folder / "bad.workload", "f16f32 NN 64 sixty-four 64\n");
  const Finished bad =
      run(folder, {"run", "--prepare", "bad.workload", "--shim-dir", "shims", "--", "sh", "-c", "echo started"});
  CHECK(bad.status == 2);
  CHECK(contains(bad.err, "bad.workload:1"));
  CHECK_FALSE(contains(bad.out, "started"));
  write_file(folder / "not.db", "no database");
  const Finished unprepared = run(folder, {"run", "--db", "not.db", "--prepare", "app.workload", "--shim-dir", "shims",
                                              "--", "sh", "-c", "echo started; exit 7"});
  CHECK(unprepared.status == 7);
  CHECK(contains(unprepared.out, "started"));
  CHECK(contains(unprepared.err, "tilesmith run: --prepare: "));
}
