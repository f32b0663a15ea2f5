// What can be had out of a database, and into it.
#include <nlohmann/json.hpp>

#include "runtime/driver/device.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

TEST_CASE("query prints the bests, filtered, as table, json or csv") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  const Finished all = run(folder, {"query", "--db", "tuned.db"});
  REQUIRE(all.status == 0);
  CHECK(lines_of(all.out) == 3);
  CHECK(contains(all.out, "NVIDIA H200"));
  CHECK(contains(all.out, "7/8"));  // one of eight was wrong

  const Finished one = run(folder, {"query", "--db", "tuned.db", "--type", "s8s32", "--format", "json"});
  const auto json = nlohmann::json::parse(one.out);
  REQUIRE(json.size() == 1);
  CHECK(json[0]["trans"] == "NT");
  CHECK(json[0]["median_us"] == 10.0);
  CHECK(json[0]["origin"] == "made-host");

  const Finished csv = run(folder, {"query", "--db", "tuned.db", "--shape", "256", "--format", "csv"});
  CHECK(lines_of(csv.out) == 2);
  CHECK(csv.out.rfind("type,trans,m,n,k,", 0) == 0);
  for (const char* format : {"table", "json", "csv"}) {
    const Finished none = run(folder, {"query", "--db", "tuned.db", "--shape", "7", "--format", format});
    CHECK(none.status == 0);
    CHECK(none.err == "no entry matches\n");
    CHECK_FALSE(contains(none.out, "no entry matches"));
  }
}

TEST_CASE("query shows all records with its statuses, and free SQL") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  CHECK(lines_of(run(folder, {"query", "--db", "tuned.db", "--all"}).out) == 17);
  CHECK(lines_of(run(folder, {"query", "--db", "tuned.db", "--all", "--limit", "5"}).out) == 6);
  const auto sorted = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"query", "--db", "tuned.db", "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return nlohmann::json::parse(run(folder, arguments).out);
  };
  CHECK(sorted({"--all"})[0]["median_us"] == 17.0);
  const nlohmann::json by_time = sorted({"--all", "--sort", "time"});
  REQUIRE(by_time.size() == 16);
  CHECK(by_time[0]["median_us"] == 10.0);
  CHECK(by_time[13]["median_us"] == 17.0);
  CHECK(by_time[15]["status"] == "mismatch");
  CHECK(sorted({"--all", "--sort", "time", "--limit", "1"})[0] == by_time[0]);
  CHECK(sorted({"--all", "--sort", "time", "--type", "s8s32,f64f64", "--limit", "3"}).size() ==
        3);  // limited after the types
  CHECK(sorted({"--all", "--sort", "time", "--type", "s8s32,f64f64", "--limit", "3"})[0]["type"] == "s8s32");
  CHECK(contains(run(folder, {"query", "--db", "tuned.db", "--sort", "time"}).err, "expected --all"));
  CHECK(contains(run(folder, {"query", "--db", "tuned.db", "--all", "--sort", "age"}).err,
      "--sort 'age': expected newest or time"));
  const Finished wrong = run(folder, {"query", "--db", "tuned.db", "--status", "mismatch"});
  CHECK(lines_of(wrong.out) == 3);
  CHECK(contains(wrong.out, "expected 9"));
  const Finished sql = run(folder, {"query", "--db", "tuned.db", "--sql", "SELECT 6 * 7 AS answer", "--format", "csv"});
  CHECK(sql.out == "answer\n42\n");
  const std::string two = "SELECT 1 AS id, 2.5 AS id, NULL AS absent, 'a,b' AS id_2, x'00' AS bytes";
  CHECK(run(folder, {"query", "--db", "tuned.db", "--sql", two, "--format", "csv"}).out ==
        "id,id,absent,id_2,bytes\n1,2.5,,\"a,b\",<1 bytes>\n");
  const auto json =
      nlohmann::ordered_json::parse(run(folder, {"query", "--db", "tuned.db", "--sql", two, "--format", "json"}).out);
  CHECK(json.dump() == R"([{"id":1,"id_3":2.5,"absent":null,"id_2":"a,b","bytes":"<1 bytes>"}])");
  for (const std::vector<std::string>& filter :
      {std::vector<std::string>{"--type", "f16f32"}, {"--limit", "1"}, {"--all"}, {"--device", "H200"}}) {
    std::vector<std::string> arguments{"query", "--db", "tuned.db", "--sql", "SELECT 1"};
    arguments.insert(arguments.end(), filter.begin(), filter.end());
    const Finished refused = run(folder, arguments);
    CHECK(refused.status == 2);
    CHECK(refused.out.empty());
    CHECK(contains(refused.err, filter.front()));
  }
}

TEST_CASE("explain names the level, the config, the records and the runners-up") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  const Finished exact = run(folder, {"explain", "f16f32", "NN", "256", "256", "256", "--db", "tuned.db"});
  INFO(exact.err);
  REQUIRE(exact.status == 0);
  for (const char* part : {"exact", "simt{", "10.00 us", "NVRTC 13.0", "580.65", "cold-", "made-host",
           "5c0d6f6e-0000-4000-8000-000000000001", "runner-up", "valid"}) {
    INFO(part);
    CHECK(contains(exact.out, part));
  }
  CHECK(run(folder, {"explain", "f16f32 NN 256 256 256", "--db", "tuned.db"}).out == exact.out);
  CHECK(contains(run(folder, {"explain", "f16f32 NN 256 256 272", "--db", "tuned.db"}).out, "model"));
  CHECK(contains(run(folder, {"explain", "f64f64 NN 64 64 64", "--db", "tuned.db"}).out, "predicted"));
  const auto json = nlohmann::json::parse(
      run(folder, {"explain", "f16f32 NN 256 256 256", "--format", "json", "--db", "tuned.db"}).out);
  CHECK(json["level"] == "exact");
  CHECK(json["record"]["median_us"] == 10.0);
  CHECK(json["runners_up"].size() == 5);
}

TEST_CASE("explain shows what is known before anything is compiled: estimates in parts, and what was pruned by what") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  const auto explained = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{
        "explain", "f16f32 NN 4096 4096 4096", "--arch", "sm_87", "--db", "tuned.db", "--prior"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished result = run(folder, arguments);
    INFO(result.err);
    REQUIRE(result.status == 0);
    return result.out;
  };
  const std::string text = explained({});
  for (const char* part : {"guess", "blocks an SM", "bound by", "multiplying", "mma{", "against rules", "refuse it",
           "dominated", "because"}) {
    INFO(part);
    CHECK(contains(text, part));
  }
  const auto prior = nlohmann::json::parse(explained({"--format", "json"})).at("prior");
  CHECK(prior["estimate"]["sms"] == 16);  // of the chosen config
  bool any = false;
  for (const auto& guess : prior["initial_configs"]) {
    const auto& made = guess["estimate"];
    if (made.is_null()) continue;
    any = true;
    CHECK(made["sms"] == 16);
    CHECK(made["waves"].get<double>() ==
          Approx(made["blocks"].get<double>() / (16 * made["blocks_an_sm"].get<double>())));
    CHECK(made["blocks_an_sm"] <= made["room_by_threads"]);
    CHECK(made["cycles"].get<double>() >= made["multiplying_cycles"].get<double>());
    CHECK(made["us"].is_null());  // no device, no clock
  }
  CHECK(any);
  for (const auto& one : prior["pruned"]) {
    std::int64_t sum = one["left"].get<std::int64_t>();
    for (const auto& rule : one["by_rules"]) sum += rule["combinations"].get<std::int64_t>();
    for (const char* by : {"refused", "dominated"}) {
      for (const auto& reason : one[by]) sum += reason["configs"].get<std::int64_t>();
    }
    INFO(one["family"]);
    CHECK(sum == one["combinations"]);
    CHECK(one["family"] != "wgmma");  // of no use on sm_87
  }
  CHECK(run(folder, {"explain", "f16f32 NN 0 8 8", "--db", "tuned.db", "--prior"}).status == 2);
}

TEST_CASE("explain answers for an architecture that the database knows no device of") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  const Finished result = run(folder, {"explain", "f16f32 NN 256 256 256", "--arch", "sm_87", "--db", "tuned.db"});
  CHECK(result.status == 0);
  CHECK(contains(result.out, "model"));
  const auto both = [&](const char* arch) {
    return run(folder, {"explain", "f16f32 NN 256 256 256", "--arch", arch, "--device", "H200", "--db", "tuned.db"});
  };
  CHECK(contains(both("sm_90a").out, "exact"));
  CHECK(both("sm_87").status == 2);
  CHECK(
      contains(both("sm_87").err, "--device 'H200': NVIDIA H200 is of sm_90a; expected that as --arch, or no --arch"));
}

TEST_CASE("explain tells predicted times from measured ones") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  const Finished exact = run(folder, {"explain", "f16f32 NN 256 256 256", "--db", "tuned.db"});
  CHECK_FALSE(contains(exact.out, "predicted"));
  const Finished model = run(folder, {"explain", "f16f32 NN 256 256 288", "--db", "tuned.db"});
  CHECK(contains(model.out, "level       model"));
  CHECK(contains(model.out, "predicted   "));
  CHECK(contains(model.out, "model  ~"));
  const auto json = nlohmann::json::parse(
      run(folder, {"explain", "f16f32 NN 256 256 288", "--format", "json", "--db", "tuned.db"}).out);
  CHECK(json["predicted_us"].get<double>() > 0);
  CHECK(json["runners_up"].at(0).contains("predicted_us"));
}

TEST_CASE("export writes text to stdout or whole to a file") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  for (const char* format : {"json", "csv", "markdown", "header"}) {
    INFO(format);
    const Finished result = run(folder, {"export", "--format", format, "--db", "tuned.db"});
    CHECK(result.status == 0);
    CHECK(contains(result.out, "f16f32"));
    const Finished filed = run(folder, {"export", "--format", format, "--db", "tuned.db", "-o", "exported"});
    CHECK(filed.status == 0);
    CHECK(filed.out.empty());
    CHECK(contains(run(folder, {"export", "--format", format, "--db", "tuned.db", "-o", "-"}).out, "f16f32"));
    CHECK(contains(read_file(folder / "exported"), "f16f32"));
  }
}

TEST_CASE("export takes lists of type pairs, transposes and families, as query does") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  const auto lines = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"export", "--format", "csv", "--db", "tuned.db"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return lines_of(run(folder, arguments).out);
  };
  CHECK(lines({"--type", "f16f32,s8s32"}) == 3);
  CHECK(lines({"--type", "all", "--trans", "all"}) == 3);
  CHECK(lines({"--type", "f16f32,f64f64", "--trans", "NN,TT", "--family", "simt,mma"}) == 2);
  CHECK(lines({"--trans", "NT", "--trans", "TT"}) == 2);
  const auto recording = [&](const char* types) {
    return run(folder, {"export", "--format", "recording", "--type", types, "-o", "part.jsonl", "--db", "tuned.db"});
  };
  CHECK(recording("f16f32,f64f64").status == 0);
  CHECK(lines_of(read_file(folder / "part.jsonl")) == 9);
  CHECK(recording("f64f64,f16f16").status == 2);
}

TEST_CASE("what one machine exports another imports, provenance kept, once") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  REQUIRE(run(folder, {"export", "--format", "json", "-o", "bests.json", "--db", "tuned.db"}).status == 0);
  REQUIRE(run(folder, {"export", "--format", "recording", "-o", "all.jsonl.zst", "--db", "tuned.db"}).status == 0);
  const Finished bests = run(folder, {"import", "bests.json", "--db", "other.db"});
  INFO(bests.err);
  REQUIRE(bests.status == 0);
  CHECK(contains(bests.out, "2 entries added"));
  CHECK(contains(run(folder, {"import", "bests.json", "--db", "other.db"}).out, "0 entries added, 2 known already"));
  CHECK(run(folder, {"import", "all.jsonl.zst", "--db", "third.db"}).status == 0);
  CHECK(lines_of(run(folder, {"query", "--all", "--db", "third.db"}).out) == 17);
  CHECK(contains(run(folder, {"query", "--format", "json", "--db", "other.db"}).out, "made-host"));
}

TEST_CASE("merge adds what another database has, once") {
  const TempFolder folder;
  make_database(folder / "a.db");
  CHECK(contains(run(folder, {"merge", "a.db", "--db", "all.db"}).out, "16 entries added"));
  CHECK(contains(run(folder, {"merge", "a.db", "--db", "all.db"}).out, "0 entries added, 16 known already"));
}

TEST_CASE("devices lists those that the database knows") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  CHECK(contains(run(folder, {"devices", "--db", "tuned.db"}).out, "NVIDIA H200"));
  const auto json = nlohmann::json::parse(run(folder, {"devices", "--format", "json", "--db", "tuned.db"}).out);
  REQUIRE(json["known"].size() == 1);
  CHECK(json["known"][0]["sm_count"] == 132);
  CHECK(json["known"][0]["bests"] == 2);
}

TEST_CASE("records of another architecture's code is shown under its own name and answers for no device") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  const Finished before = run(folder, {"explain", "f16f32 NN 256 256 256", "--db", "tuned.db"});
  {
    db::Store store = db::Store::open(folder / "tuned.db");
    for (db::Record entry : made_record(made_problems(), 3)) {
      const KernelTarget target{entry.task.problem(), *virtual_limits("sm_87")};
      entry.device = db::identity_as(made_device(), *limits_for_arch("sm_87"));
      entry.environment = made_environment(target);
      entry.plan_hash = plan_hash(entry.config, entry.task.problem(), entry.environment.compiler_options);
      entry.environment.nvrtc_version = "99.0";
      entry.created_at = "2026-06-01T00:00:00.000Z";
      if (entry.outcome.timing) entry.outcome.timing->median_us = 1;
      store.record(entry);
    }
  }
  // What answers for the only real device of the database has not changed.
  CHECK(run(folder, {"explain", "f16f32 NN 256 256 256", "--db", "tuned.db"}).out == before.out);
  CHECK(run(folder, {"explain", "f16f32 NN 256 256 256", "--device", "NVIDIA H200", "--db", "tuned.db"}).out ==
        before.out);
  CHECK(contains(run(folder, {"explain", "f16f32 NN 256 256 256", "--arch", "sm_87", "--db", "tuned.db"}).out,
      "the config itself was measured nowhere"));

  const Finished all = run(folder, {"query", "--db", "tuned.db"});
  CHECK(lines_of(all.out) == 5);
  CHECK(contains(all.out, "NVIDIA H200 as sm_87"));
  const Finished real = run(folder, {"query", "--db", "tuned.db", "--device", "h200"});
  CHECK(lines_of(real.out) == 3);
  CHECK_FALSE(contains(real.out, "as sm_87"));
  const Finished as = run(folder, {"query", "--db", "tuned.db", "--device", "H200 as sm_87", "--format", "json"});
  const auto json = nlohmann::json::parse(as.out);
  REQUIRE(json.size() == 2);
  CHECK(json[0]["median_us"] == 1.0);

  const Finished asked = run(folder, {"explain", "f16f32 NN 256 256 256", "--device", "as sm_87", "--db", "tuned.db"});
  CHECK(contains(asked.out, "exact"));
  CHECK(contains(asked.out, "compute_87"));
  const Finished bundle =
      run(folder, {"export", "--format", "bundle", "--device", "as sm_87", "-o", "as.tsb", "--db", "tuned.db"});
  CHECK(bundle.status == 2);
  CHECK(contains(bundle.err, "ran the code of sm_87"));
  CHECK_FALSE(std::filesystem::exists(folder / "as.tsb"));
}

TEST_CASE("bytes that are not UTF-8 are replaced in JSON") {
  const TempFolder folder;
  {
    db::Store store = db::Store::open(folder / "tuned.db");
    for (db::Record entry : made_record(made_problems(), 5)) {
      entry.device.name = "NVIDIA H200 \xff";
      entry.origin = "host \xfe";
      if (!entry.outcome.timing) entry.outcome.message = "error: \xc3(";
      store.record(entry);
    }
  }
  for (const std::vector<std::string>& command : {std::vector<std::string>{"query"}, {"query", "--status", "mismatch"},
           {"devices"}, {"explain", "f16f32 NN 256 256 256"}, {"query", "--sql", "SELECT name FROM devices"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--format", "json", "--db", "tuned.db"});
    const Finished result = run(folder, arguments);
    INFO(result.err);
    CHECK(result.status == 0);
    CHECK(contains(result.out, "\xef\xbf\xbd"));
    CHECK(nlohmann::json::accept(result.out));
  }
}
