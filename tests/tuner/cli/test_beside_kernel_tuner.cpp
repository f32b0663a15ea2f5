// tilesmith simulate --beside-kernel-tuner, with programs that stand in for Python and for Kernel Tuner.
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/catch.hpp"
#include "tests/tuner/made_kernel_tuner_cache.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

/// Config X, of index X - 1, takes X ms, or 251 - X ms; 250 fails.
std::string made_line_cache(bool reversed) {
  nlohmann::json cache{{"kernel_name", "line"}, {"tune_params_keys", {"X"}}};
  for (int x = 1; x <= 250; ++x) {
    cache["tune_params"]["X"].push_back(x);
    cache["cache"][std::to_string(x)] = {
        {"X", x}, {"time", x < 250 ? nlohmann::json(reversed ? 251 - x : x) : "RuntimeFailedConfig"}};
  }
  return cache.dump();
}

/// Stands in for Python. Its arguments are -c SCRIPT NAME,.. or -c SCRIPT CACHE STRATEGY RUNS EVALUATIONS SEED. The first run of `good` has
/// evaluated X = 10 four times and 48 slower ones, X = 2 as the 50th, 50 slower ones, and X = 1. The others end at once.
constexpr const char* kStandIn = R"(#!/bin/sh
echo 'printed by Kernel Tuner'
case $3 in
  all) echo '{"strategies":["good","slow"]}' >&3; exit ;;
  *best*) echo '{"error":"no such strategy"}' >&3; exit ;;
  *.json) ;;
  *) echo "{\"strategies\":[\"$(echo "$3" | sed 's/,/","/g')\"]}" >&3; exit ;;
esac
first="[9,9,9,9,$(seq -s, 100 147),1,$(seq -s, 50 99),0]"
cp "$3" handed.json
echo "$3" >path.txt
echo "$5 $6 $7" >numbers.txt
case $4 in
  good) for run in $(seq "$5"); do echo "{\"configs\":$first,\"seconds\":0.25}" >&3; first='[9]'; done ;;
  bad) echo '{"error":"ValueError: the space is too small"}' >&3 ;;
  garbled) echo 'Traceback' >&3 ;;
  killed) kill -9 $$ ;;
  few) echo '{"configs":[0],"seconds":0.25}' >&3 ;;
  shapeless) for run in $(seq "$5"); do echo '{"seconds":0.25}' >&3; done ;;
  slow) exec sleep 1000 ;;
esac
)";

struct Stage {
  TempFolder folder;

  Stage() {
    write_file(folder / "line.json", made_line_cache(false));
    write_file(folder / "back.json.gz", gzipped(made_line_cache(true)));
    write_file(folder / "python", kStandIn);
    std::filesystem::permissions(folder / "python", std::filesystem::perms::owner_all);
  }
  std::vector<std::string> command(std::vector<std::string> more) const {
    std::vector<std::string> all{"simulate", "--recording", "line.json", "--runs", "2", "--python", "./python"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Finished simulate(std::vector<std::string> more) const { return run(folder, command(std::move(more))); }
  void check_refused(const std::vector<std::string>& arguments, const std::string& part) const {
    const Finished result = simulate(arguments);
    INFO(result.err);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(lines_of(result.err) == 1);
    CHECK(contains(result.err, part));
  }
};

}  // namespace

TEST_CASE("Kernel Tuner's strategies stand beside ours in one table of all recordings") {
  const Stage stage;
  const Finished result = stage.simulate({"--recording", "back.json.gz", "--strategy", "exhaustive",
      "--beside-kernel-tuner", "good", "--evaluations", "200", "--seed", "7"});
  INFO(result.err << result.out);
  REQUIRE(result.status == 0);
  // Distinct configs count: after 50 one run has reached 1/2 and one 1/10.
  CHECK(contains(result.out,
      "recording     strategy    after 25   after 50   after 100   after 200   CPU s/run\n"
      "line.json     exhaustive     1.000*     1.000*      1.000*      1.000*      0.000\n"
      "              kt:good        0.100*     0.300*      0.300*      0.550*      0.250\n"
      "back.json.gz  exhaustive     0.009*     0.010*      0.013*      0.039*      0.000\n"
      "              kt:good        0.012*     0.014*      0.014*      0.014*      0.250\n"
      "mean of 2     exhaustive     0.504*     0.505*      0.507*      0.520*      0.000\n"
      "              kt:good        0.056*     0.157*      0.157*      0.282*      0.250\n"
      "Mean fraction of the optimum after N distinct configs; 2 runs a strategy. kt: is Kernel Tuner's.\n"));
  CHECK(read_file(stage.folder / "numbers.txt") == "2 200 7\n");
}

TEST_CASE("only the best of each side is marked") {
  const Stage stage;
  const Finished result = stage.simulate({"--strategy", "exhaustive,random", "--beside-kernel-tuner", "good"});
  CHECK(contains(result.out, "exhaustive     1.000*"));
  CHECK_FALSE(contains(result.out, "random         1.000*      1.000*      1.000*"));
}

TEST_CASE("Kernel Tuner's strategies are in CSV, JSON and the picture, too") {
  const Stage stage;
  const Finished result = stage.simulate({"--strategy", "exhaustive", "--beside-kernel-tuner", "bad,good",
      "--recording", "back.json.gz", "--format", "json", "--plot", "curves.svg"});
  const auto records = nlohmann::json::parse(result.out);
  REQUIRE(records.size() == 6);
  CHECK(records[1]["strategy"] == "kt:good");
  CHECK(records[1]["mean_50"] == 0.3);
  CHECK(records[1]["seconds_per_run"] == 0.25);
  CHECK(records[5]["strategy"] == "kt:good");
  CHECK(records[5]["recordings"] == 2);
  CHECK(contains(read_file(stage.folder / "curves.svg"), ">kt:good<"));
}

TEST_CASE("Kernel Tuner gets every config with its index in a file that is removed") {
  const Stage stage;
  REQUIRE(stage.simulate({"--beside-kernel-tuner", "good"}).status == 0);
  const auto cache = nlohmann::json::parse(read_file(stage.folder / "handed.json"));
  CHECK(cache["tune_params_keys"] == nlohmann::json{"X"});
  CHECK(cache["tune_params"]["X"].size() == 250);
  CHECK(cache["cache"].size() == 250);
  CHECK(cache["cache"]["3"] == nlohmann::json{{"X", 3}, {"time", 3000.0}, {"tilesmith_index", 2}});
  CHECK(cache["cache"]["250"]["time"].is_null());
  std::string path = read_file(stage.folder / "path.txt");
  path.pop_back();
  CHECK(std::filesystem::path(path).extension() == ".json");
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a strategy of Kernel Tuner that fails costs one line, and the table goes on") {
  const Stage stage;
  const Finished result = stage.simulate({"--beside-kernel-tuner", "bad,garbled,killed,few,shapeless,good"});
  INFO(result.err << result.out);
  CHECK(result.status == 0);
  CHECK(lines_of(result.err) == 6);  // one says what is simulated
  for (const char* part : {"kt:bad: ValueError: the space is too small\n", "kt:garbled: 'Traceback' is no answer\n",
           "kt:killed: killed by signal 9", "kt:few: 1 of 2 runs came back\n", "line.json: kt:shapeless: "})
    CHECK(contains(result.err, part));
  CHECK(lines_of(result.out) == 5);
  CHECK(contains(result.out, " 0.300*"));
}

TEST_CASE("what --beside-kernel-tuner needs is said in one line where it is missing") {
  const Stage stage;
  stage.check_refused({"--beside-kernel-tuner", "good,best"},
      "--beside-kernel-tuner 'good,best': ./python: no such strategy; expected strategies of the package kernel-tuner");
  write_file(stage.folder / "python", "#!/bin/sh\necho \"{\\\"error\\\":\\\"no module 'kernel_tuner'\\\"}\" >&3\n");
  stage.check_refused({"--beside-kernel-tuner", "all"},
      "./python: no module 'kernel_tuner'; expected strategies of the package kernel-tuner");
  std::filesystem::remove(stage.folder / "python");
  stage.check_refused({"--beside-kernel-tuner", "all"}, "./python: exit status 127; expected strategies of");
}

TEST_CASE("Ctrl-C ends simulate while Kernel Tuner's strategies run") {
  const Stage stage;
  Started process(stage.folder, stage.command({"--beside-kernel-tuner", "slow"}));
  for (int i = 0; i < 500 && !std::filesystem::exists(stage.folder / "numbers.txt"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  process.signal(SIGINT);
  const auto asked = std::chrono::steady_clock::now();
  const Finished result = process.wait();
  CHECK(std::chrono::steady_clock::now() - asked < std::chrono::seconds(2));
  CHECK(result.status == 130);
  CHECK(result.out.empty());
}

TEST_CASE("the script runs a strategy of Kernel Tuner once for each seed") {
  const Stage stage;
  // In the place of the packages. A run evaluates the config whose X is its seed, and 250.
  for (const char* package : {"numpy", "kernel_tuner"}) std::filesystem::create_directory(stage.folder / package);
  write_file(stage.folder / "numpy/__init__.py", "from . import random\n");
  write_file(stage.folder / "numpy/random.py", "def seed(value):\n    global seeded\n    seeded = value\n");
  write_file(stage.folder / "kernel_tuner/__init__.py", "");
  write_file(
      stage.folder / "kernel_tuner/util.py", "process_cache = None\nclass RuntimeFailedConfig(str):\n    pass\n");
  write_file(stage.folder / "kernel_tuner/interface.py", R"(
import numpy
from kernel_tuner import util
strategy_map = {"seeded": 1}
class Searchspace:
    def __init__(self, parameters, restrictions, threads):
        assert restrictions({"X": 250}) and not restrictions({"X": 251})
        self.runs = 0
def tune_kernel(name, source, size, arguments, parameters, restrictions, cache, simulation_mode, strategy, strategy_options):
    print("printed by Kernel Tuner")
    space = Searchspace(parameters, restrictions, 1)
    assert space.runs == 0
    space.runs += 1
    if numpy.random.seeded > 11: raise ValueError("no more\nof these")
    entries = util.process_cache(cache, None, None, None)
    assert isinstance(entries["250"]["__error__"], util.RuntimeFailedConfig)
    assert strategy == "seeded" and strategy_options == {"max_fevals": 400} and parameters["X"][2] == 3
    return [entries[str(numpy.random.seeded)], entries["250"]], {}
)");
  const std::vector<std::string> arguments{"simulate", "--recording", "line.json", "--beside-kernel-tuner", "seeded",
      "--seed", "10", "--python", "python3", "--runs"};
  const auto with_runs = [&](const char* runs) {
    std::vector<std::string> all = arguments;
    all.emplace_back(runs);
    return run(stage.folder, all, {{"PYTHONPATH", stage.folder.path().string()}});
  };
  const Finished result = with_runs("2");
  INFO(result.err << result.out);
  CHECK(result.status == 0);
  CHECK(contains(result.out, "kt:seeded     0.095*     0.095*      0.095*      0.095*"));  // of 1/10 and 1/11
  CHECK(contains(with_runs("3").err, "line.json: kt:seeded: ValueError: no more of these\n"));
}
