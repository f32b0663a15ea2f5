// The command line as a whole: help, versions, lists.
#include <cstdlib>

#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith::tests;

TEST_CASE("every command explains itself and ends with status 0") {
  const TempFolder folder;
  const Finished all = run(folder, {"--help"});
  CHECK(all.status == 0);
  CHECK(all.err.empty());
  for (const char* command : {"tune", "compile", "query", "explain", "export", "import", "merge", "capture", "run",
           "devices", "space", "workloads", "strategies", "simulate", "version"}) {
    INFO(command);
    CHECK(contains(all.out, command));
    const Finished one = run(folder, {command, "--help"});
    CHECK(one.status == 0);
    CHECK(contains(one.out, command));
    CHECK(one.err.empty());
  }
}

TEST_CASE("the help of tune names units, defaults and examples") {
  const TempFolder folder;
  const std::string help = run(folder, {"tune", "--help"}).out;
  for (const char* part :
      {"--budget", "2h30m", "--strategy", "local", "--replay", "--dry-run", "Examples:", "TILESMITH_DB"}) {
    INFO(part);
    CHECK(contains(help, part));
  }
}

TEST_CASE("the help of --workload names all that a line may say") {
  const TempFolder folder;
  const std::string help = run(folder, {"tune", "--help"}).out;
  for (const char* part : {"type trans M N K [weight]", "lda=", "ldb=", "ldc=", "align=", "beta="})
    CHECK(contains(help, part));
  write_file(folder / "padded.txt", "f16f32 NN 64 64 64 lda=128 align=4 beta=any\n");
  const Finished dry =
      run(folder, {"tune", "--workload", "padded.txt", "--dry-run", "--arch", "sm_87", "--family", "simt"});
  CHECK(contains(dry.out, "f16f32 NN 64 64 64 lda=128 align=4 beta=any"));
}

TEST_CASE("an unknown command or none is one line that lists the commands") {
  const TempFolder folder;
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"tnue"}, std::vector<std::string>{}}) {
    const Finished result = run(folder, arguments);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(lines_of(result.err) == 1);
    CHECK(contains(result.err, "tune, compile"));
  }
}

TEST_CASE("an unknown option is one line that points at the help") {
  const TempFolder folder;
  const Finished result = run(folder, {"query", "--colour"});
  CHECK(result.status == 2);
  CHECK(lines_of(result.err) == 1);
  CHECK(contains(result.err, "--colour"));
  CHECK(contains(result.err, "tilesmith query --help"));
}

TEST_CASE("the first unknown option is named, with the nearest that the command knows") {
  const TempFolder folder;
  const auto said = [&](const std::vector<std::string>& arguments) {
    const Finished result = run(folder, arguments);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(lines_of(result.err) == 1);
    return result.err;
  };
  CHECK(said({"report", "--outptu", "x.html", "--runn", "all"}) ==
        "tilesmith report: unknown option --outptu; the nearest is --output (see `tilesmith report --help`)\n");
  CHECK(contains(said({"tune", "--workloads=quick"}), "unknown option --workloads; the nearest is --workload "));
  CHECK(contains(said({"space", "--famly", "wmma"}), "unknown option --famly; the nearest is --family "));
  CHECK(contains(said({"query", "--colour"}), "unknown option --colour (see"));
  CHECK(contains(said({"query", "-x"}), "unknown option -x (see"));
  CHECK(contains(said({"query", "---"}), "unknown option --- (see"));
  CHECK(contains(said({"query", "--=x"}), "unknown option -- (see"));
  CHECK(contains(said({"-x"}), "unknown option -x: expected --help, --version, or first a command, one of tune, "));
  CHECK(contains(said({"tune", "quick"}), "'quick': expected an option here"));
  CHECK(contains(said({"query", "--limit", "abc"}), "--limit 'abc': expected a number from 0 to 1000000000000"));
}

TEST_CASE("where a result goes is said by --out and --output alike") {
  const TempFolder folder;
  for (const char* command : {"report", "bench", "query", "export"}) {
    INFO(command);
    const std::string help = run(folder, {command, "--help"}).out;
    CHECK(contains(help, "--out,--output"));
  }
}

TEST_CASE("what was printed and cannot be written is an error") {
  const TempFolder folder;
  make_recording(folder / "recording.jsonl");
  for (const char* arguments :
      {"--help", "--version", "tune --help", "tune --dry-run --arch sm_87 --family simt --shape 64", "workloads",
          "tune --replay recording.jsonl --shape 256 --family simt --max-candidates 1"}) {
    INFO(arguments);
    const std::string command =
        "cd '" + folder.path().string() + "' && CUDA_VISIBLE_DEVICES= '" TILESMITH_BINARY "' " + arguments;
    CHECK(WEXITSTATUS(std::system((command + " >/dev/full 2>said").c_str())) == 2);
    CHECK(contains(read_file(folder / "said"), ": stdout: cannot be written\n"));
    CHECK(WEXITSTATUS(std::system((command + " >/dev/null 2>said").c_str())) == 0);
  }
}

TEST_CASE("a family without a ladder says so") {
  const TempFolder folder;
  const Finished without = run(folder, {"space", "--family", "simt", "--ladder", "--arch", "sm_87"});
  CHECK(without.status == 0);
  CHECK(without.out.empty());
  CHECK(contains(without.err, "the family simt has no ladder"));
  const Finished with = run(folder, {"space", "--family", "wmma", "--ladder", "--arch", "sm_87"});
  CHECK(lines_of(with.out) > 1);
  CHECK(with.err.empty());
}

TEST_CASE("versions are told without a GPU") {
  const TempFolder folder;
  CHECK(contains(run(folder, {"--version"}).out, "tilesmith "));
  const Finished result = run(folder, {"version"});
  CHECK(result.status == 0);
  for (const char* part : {"tilesmith ", "NVRTC: ", "driver: ", "measuring policy: "})
    CHECK(contains(result.out, part));
}

TEST_CASE("strategies and workloads are listed, and a workload prints what --workload reads") {
  const TempFolder folder;
  CHECK(contains(run(folder, {"strategies"}).out, "exhaustive"));
  CHECK(contains(run(folder, {"workloads"}).out, "quick"));
  const Finished quick = run(folder, {"workloads", "quick"});
  REQUIRE(quick.status == 0);
  write_file(folder / "quick.txt", quick.out);
  const Finished dry =
      run(folder, {"tune", "--workload", "quick.txt", "--dry-run", "--arch", "sm_90a", "--family", "simt"});
  CHECK(dry.status == 0);
  CHECK(contains(dry.out, " problems, "));
}

TEST_CASE("devices says why there is none and succeeds") {
  const TempFolder folder;
  const Finished result = run(folder, {"devices"});
  CHECK(result.status == 0);
  CHECK(contains(result.out, "no GPU here: "));
  CHECK(contains(run(folder, {"devices", "--format", "json"}).out, "\"present\": []"));
}

TEST_CASE("space shows parameters, rules with their reasons, and the same count that --list prints") {
  const TempFolder folder;
  const std::vector<std::string> which{"space", "--family", "wmma", "--type", "f16f32", "--arch", "sm_87"};
  const Finished shown = run(folder, which);
  REQUIRE(shown.status == 0);
  CHECK(contains(shown.out, "combinations"));
  CHECK(contains(shown.out, "because"));
  std::vector<std::string> list = which;
  list.emplace_back("--list");
  const Finished listed = run(folder, list);
  REQUIRE(listed.status == 0);
  std::string count = std::to_string(lines_of(listed.out));
  for (int at = int(count.size()) - 3; at > 0; at -= 3) count.insert(std::size_t(at), 1, ',');
  CHECK(contains(shown.out, count + " legal configs"));
}

TEST_CASE("a space is shown with an epilogue, a batch and scalars in device memory") {
  const TempFolder folder;
  const std::vector<std::string> simt{"space", "--family", "simt", "--arch", "sm_90a"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = simt;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(folder, arguments);
  };
  const Finished plain = with({});
  CHECK(contains(plain.out, "f16f32 NN on sm_90a"));
  CHECK_FALSE(contains(plain.out, "entries"));
  const Finished batch = with({"--with", "batch=64,batch_mode=strided", "--with", "epilogue=bias_n+gelu"});
  CHECK(batch.status == 0);
  CHECK(contains(batch.out, "f16f32 NN epilogue=bias_n+gelu batch_mode=strided on sm_90a"));
  CHECK(contains(batch.out, "entries"));
  CHECK(contains(
      with({"--with", "batch_mode=pointers,scalars=device"}).out, "batch_mode=pointers scalars=device on sm_90a"));
  CHECK(contains(with({"--type", "f16f32f16", "--trans", "NT", "--with", "weights=u4_g64+zeros"}).out,
      "f16f32f16 NT weights=u4_g64+zeros on sm_90a"));
  const Finished listed = with({"--with", "batch_mode=strided", "--list"});
  CHECK(contains(listed.out, "entries=16}\n"));
  CHECK(contains(with({"--with", "epilogue=swiglu"}).out, "pairs of columns"));  // a rule of its own
}

TEST_CASE("what a space cannot have is one line that says what was expected") {
  const TempFolder folder;
  const std::pair<const char*, const char*> wrong[] = {{"beta=any", "kernels serve any"},
      {"lda=128", "expected epilogue="}, {"batch=4", "batch_mode=strided"}, {"epilogue=foo", "--with: 'epilogue=foo'"},
      {"", "--with"}, {"epilogue=swiglu", "has no kernel for f32f32 NN epilogue=swiglu on sm_87"}};
  for (const auto& [field, part] : wrong) {
    INFO(field);
    const Finished result =
        run(folder, {"space", "--family", "ffma", "--type", "f32f32", "--arch", "sm_87", "--with", field});
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(lines_of(result.err) == 1);
    CHECK(contains(result.err, part));
  }
}

TEST_CASE("a program for the workers that cannot be started is refused in one line, and nothing is written") {
  const TempFolder folder;
  const std::vector<std::string> arguments{
      "compile", "--arch", "sm_87", "--shape", "64", "--max-configs", "1", "--db", "none.db"};
  const Finished done = run(folder, arguments, {{"TILESMITH_WORKER_PROGRAM", "./tilesmith"}});
  CHECK(done.status == 2);
  CHECK(
      done.err ==
      "tilesmith compile: TILESMITH_WORKER_PROGRAM=./tilesmith: expected the absolute path of a file that can be started\n");
  CHECK_FALSE(std::filesystem::exists(folder / "none.db"));
}
