// Evidence of kernels whose templates changed, and which of it holds.
#include <set>

#include "db/export.hpp"
#include "db/merge.hpp"
#include "kernels/device_limits.hpp"
#include "runtime/compiler.hpp"
#include "runtime/plan_hash.hpp"
#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tests/tuner/tune_toy.hpp"
#include "tuner/measure/timing_policy.hpp"
#include "tuner/renew.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using tilesmith::tests::contains;
using tilesmith::tests::Finished;
using tilesmith::tests::TempFolder;

namespace {

bool no_nvrtc() {
  if (runtime::nvrtc_unavailable_because().empty()) return false;
  WARN("skipped: " << runtime::nvrtc_unavailable_because());
  return true;
}

const std::string kFormer = "former-template";

/// What an Orin measured of `simt`, by former templates and by today's.
struct Measured {
  KernelTarget target{*find_type_pair("f16f32"), {}, *limits_for_arch("sm_87")};
  Problem problem = packed_problem(target.type, target.trans, 64, 64, 64);
  db::DeviceIdentity device;
  std::vector<Config> configs;  // legal ones

  Measured() {
    device.name = "Orin";
    device.sm = 87;
    device.sm_count = 8;
    for (const int block_m : {16, 32, 64}) {
      for (const int block_n : {32, 64}) {
        const Config config(
            "simt", {{"block_m", block_m}, {"block_n", block_n}, {"block_k", 8}, {"thread_m", 2}, {"thread_n", 2}});
        if (!illegal_because(*find_family("simt"), config, target)) configs.push_back(config);
      }
    }
    REQUIRE(configs.size() >= 4);
  }

  db::KernelBuild build(std::size_t i) const { return runtime::compile(configs.at(i), target); }
  std::string hash(std::size_t i) const { return runtime::plan_hash(configs.at(i), problem, build(i).cubin); }

  db::Evidence entry(std::size_t i, double us, const std::string& template_hash, const std::string& plan_hash) const {
    db::Evidence entry;
    entry.problem = problem;
    entry.config = configs.at(i);
    entry.device = device;
    entry.producer = {template_hash, runtime::compiler_options_text(target), runtime::nvrtc_version(), "540.2",
                      kMeasuringPolicy};
    entry.outcome = toy::ok(us);
    entry.run = "run-then";
    entry.origin = "orin-1";
    entry.created_at = "2026-01-0" + std::to_string(i + 1) + "T00:00:00.000Z";
    entry.plan_hash = plan_hash;
    return entry;
  }
};

const db::Evidence* of_config(const std::vector<db::Evidence>& latest, const Config& config) {
  for (const db::Evidence& entry : latest) {
    if (entry.config == config) return &entry;
  }
  return nullptr;
}

std::vector<db::Evidence> latest(const db::Store& store) {
  db::EvidenceFilter filter;
  filter.latest_only = true;
  return store.evidence(filter);
}

}  // namespace

TEST_CASE("a retired entry is renewed where the same would run, with its provenance, and nowhere else") {
  if (no_nvrtc()) return;
  const Measured of;
  db::Store store = db::Store::in_memory();
  store.record(of.entry(0, 5, kFormer, of.hash(0)));
  store.record(of.entry(1, 4, kFormer, of.hash(0)));  // something else ran
  store.record(of.entry(2, 3, kFormer, ""));          // it is not known what
  store.record(of.entry(3, 6, kFormer, of.hash(3)));  // tried again since
  db::Evidence again = of.entry(3, 9, template_hash("simt"), "");
  again.created_at = "2026-02-01T00:00:00.000Z";
  store.record(again);

  const Renewables found = renewables(store, of.device, of.target.limits, 8);
  CHECK(found.retired == 3);
  CHECK(found.unknown == 1);
  CHECK(found.not_eligible == 0);
  REQUIRE(found.candidates.size() == 2);
  CHECK(found.candidates[0].entry.config == of.configs[1]);  // fastest first

  // Nothing is renewed on trust: without today's kernels it is not known.
  CHECK(renew(store, found.candidates, of.target.limits).not_compiled == 2);
  std::atomic<bool> stop = false;
  CHECK(compile_all(store, jobs_of(found.candidates, of.target.limits), 1, {}, stop, TILESMITH_BINARY) == 2);
  const Renewed result = renew(store, found.candidates, of.target.limits);
  CHECK(result.same == 1);
  CHECK(result.changed == 1);
  CHECK(result.not_compiled == 0);

  const std::vector<db::Evidence> now = latest(store);
  const db::Evidence* renewed = of_config(now, of.configs[0]);
  REQUIRE(renewed != nullptr);
  const db::Evidence then = of.entry(0, 5, kFormer, of.hash(0));
  CHECK(renewed->producer.template_hash == template_hash("simt"));
  CHECK(renewed->producer.driver_version == "540.2");
  CHECK(renewed->outcome.timing->median_us == 5);
  CHECK(renewed->created_at == then.created_at);
  CHECK(renewed->run == then.run);
  CHECK(renewed->origin == then.origin);
  CHECK(renewed->plan_hash == then.plan_hash);
  CHECK(of_config(now, of.configs[1])->producer.template_hash == kFormer);
  CHECK(of_config(now, of.configs[2])->producer.template_hash == kFormer);
  CHECK(of_config(now, of.configs[3])->outcome.timing->median_us == 9);
  CHECK(store.query("SELECT count(*) FROM evidence").rows.at(0).at(0) == "6");  // what was there is there

  // Once is enough.
  const Renewables after = renewables(store, of.device, of.target.limits, 8);
  CHECK(after.retired == 2);
  REQUIRE(after.candidates.size() == 1);
  CHECK(renew(store, after.candidates, of.target.limits).same == 0);

  // It counts in another database too, where it comes before its forerunner.
  const TempFolder folder;
  db::EvidenceFilter first;
  first.config = of.configs[0];
  db::write_file_atomically(folder / "a.json", db::export_best(db::test::bests_of(store, first), db::ExportFormat::json));
  db::Store other = db::Store::in_memory();
  CHECK(db::import_file(other, folder / "a.json").added == 1);
  db::merge(other, store);
  CHECK(of_config(latest(other), of.configs[0])->producer.template_hash == template_hash("simt"));
}

TEST_CASE("of the retired those timed by today's measuring policy are renewed before faster ones of a former") {
  const Measured of;
  db::Store store = db::Store::in_memory();
  db::Evidence former = of.entry(0, 1, kFormer, std::string(32, 'a'));
  former.producer.measuring_policy = "cold-1";
  store.record(former);
  store.record(of.entry(1, 9, kFormer, std::string(32, 'a')));
  store.record(of.entry(2, 8, kFormer, std::string(32, 'a')));
  const Renewables found = renewables(store, of.device, of.target.limits, 2);
  REQUIRE(found.candidates.size() == 2);
  CHECK(found.candidates[0].entry.config == of.configs[2]);
  CHECK(found.candidates[1].entry.config == of.configs[1]);
}

TEST_CASE("a config of before a parameter was added is renewed as it reads today") {
  if (no_nvrtc()) return;
  const Measured of;
  db::Evidence entry = of.entry(0, 5, kFormer, std::string(32, 'a'));
  std::vector<Config::Value> values = of.configs[0].values();
  values.erase(values.begin() + 2);  // block_k
  entry.config = Config("simt", values);
  db::Store store = db::Store::in_memory();
  store.record(entry);
  const Renewables before = renewables(store, of.device, of.target.limits, 8);
  REQUIRE(before.candidates.size() == 1);
  const Config today = before.candidates[0].today;
  CHECK(today.values().size() == entry.config.values().size() + 1);
  db::Store known = db::Store::in_memory();
  entry.plan_hash = runtime::plan_hash(today, of.problem, runtime::compile(today, of.target).cubin);
  known.record(entry);
  const Renewables found = renewables(known, of.device, of.target.limits, 8);
  std::atomic<bool> stop = false;
  compile_all(known, jobs_of(found.candidates, of.target.limits), 1, {}, stop, TILESMITH_BINARY);
  CHECK(renew(known, found.candidates, of.target.limits).same == 1);
  const auto now = latest(known);
  REQUIRE(of_config(now, today) != nullptr);
  CHECK(of_config(now, today)->producer.template_hash == template_hash("simt"));
  CHECK(renewables(known, of.device, of.target.limits, 8).retired == 0);
}

TEST_CASE("of each problem the fastest so many are renewed") {
  if (no_nvrtc()) return;
  const Measured of;
  db::Store store = db::Store::in_memory();
  for (std::size_t i = 0; i < 4; ++i) store.record(of.entry(i, 10 - double(i), kFormer, std::string(32, 'a')));
  const Renewables found = renewables(store, of.device, of.target.limits, 2);
  CHECK(found.retired == 4);
  REQUIRE(found.candidates.size() == 2);
  CHECK(found.candidates[0].entry.config == of.configs[3]);
  CHECK(found.candidates[1].entry.config == of.configs[2]);
  db::DeviceIdentity other = of.device;
  other.sm_count = 16;
  CHECK(renewables(store, other, of.target.limits, 2).retired == 0);
}

TEST_CASE("entries by today's templates come to say what ran, by the kernels that the store has") {
  if (no_nvrtc()) return;
  const Measured of;
  db::Store store = db::Store::in_memory();
  store.record_build(of.build(0));
  store.record(of.entry(0, 5, template_hash("simt"), ""));
  store.record(of.entry(1, 5, template_hash("simt"), ""));  // no kernel
  store.record(of.entry(2, 5, kFormer, ""));
  CHECK(note_what_ran(store, of.device, of.target.limits) == 1);
  CHECK(note_what_ran(store, of.device, of.target.limits) == 0);
  const auto now = latest(store);
  CHECK(of_config(now, of.configs[0])->plan_hash == of.hash(0));
  CHECK(of_config(now, of.configs[1])->plan_hash.empty());
  CHECK(of_config(now, of.configs[2])->plan_hash.empty());
}

TEST_CASE("what a tuner stores says what ran, where the store has its kernel") {
  if (no_nvrtc()) return;
  using namespace tilesmith::tuner::toy;
  const runtime::SourceBuild kernel = runtime::compile_source(
      "extern \"C\" __global__ void gemm(float* x) { x[0] = 1; }", "toy.cu", "gemm", {"--gpu-architecture=sm_87"});
  REQUIRE(kernel.ok);
  const Problem problem = square(64);
  const Config config = ToyFamily::config(4, 4, 2);
  const auto tuned_by = [&](const std::string& template_hash) {
    db::Store store = db::Store::in_memory();
    ToyEvaluator evaluator;
    evaluator.producer_.template_hash = template_hash;
    const db::Producer producer = evaluator.producer("toy");
    db::KernelBuild build;
    build.key = {config,
                 problem.type,
                 problem.trans,
                 kArch,
                 producer.template_hash,
                 producer.compiler_options,
                 producer.nvrtc_version};
    build.status = db::Status::ok;
    build.cubin = kernel.cubin;
    store.record_build(build);
    TuneOptions options;
    options.max_candidates = 3;
    quiet_tune(squares({64, 96}), options, evaluator, store);
    return store.evidence();
  };
  std::set<std::string> hashes;
  for (const db::Evidence& entry : tuned_by(template_hash("toy"))) {
    const bool has_kernel = entry.config == config;
    CHECK(entry.plan_hash == (has_kernel ? runtime::plan_hash(config, entry.problem, kernel.cubin) : std::string()));
    if (has_kernel) hashes.insert(entry.plan_hash);
  }
  CHECK(hashes.size() == 2);  // another grid on the other problem
  CHECK(hashes.count("") == 0);
  // Of a recording's former template, which a replay may have, today's launches are not what ran.
  for (const db::Evidence& entry : tuned_by("hash-1")) CHECK(entry.plan_hash.empty());
}

TEST_CASE("a later failure, and any entry by today's templates, stand against an older time") {
  if (no_nvrtc()) return;
  const Measured of;
  db::Store store = db::Store::in_memory();
  // It failed since: as of today it is no time that counts.
  store.record(of.entry(0, 5, kFormer, of.hash(0)));
  db::Evidence failed = of.entry(0, 5, "later-template", "");
  failed.outcome = {db::Status::mismatch, "wrong", std::nullopt};
  failed.created_at = "2026-02-01T00:00:00.000Z";
  store.record(failed);
  // By today's templates once, then by others, then renewed as theirs: today's is there.
  store.record(of.entry(1, 4, template_hash("simt"), of.hash(1)));
  store.record(of.entry(1, 4, kFormer, of.hash(1)));
  const Renewables found = renewables(store, of.device, of.target.limits, 8);
  CHECK(found.retired == 0);
  CHECK(found.candidates.empty());
}

TEST_CASE("renew tells what it renewed, and refuses what it cannot work on in a line") {
  if (no_nvrtc()) return;
  const TempFolder folder;
  const Finished missing = run(folder, {"renew", "--db", "none.db"});
  CHECK(missing.status == 2);
  CHECK(contains(missing.err, "none.db: no such file"));
  CHECK_FALSE(std::filesystem::exists(folder / "none.db"));
  const Measured of;
  {
    db::Store store = db::Store::open(folder / "orin.db");
    store.record(of.entry(0, 5, kFormer, of.hash(0)));
    store.record(of.entry(1, 5, kFormer, of.hash(0)));
  }
  const Finished nobody = run(folder, {"renew", "--db", "orin.db", "--device", "H200"});
  CHECK(nobody.status == 2);
  CHECK(contains(nobody.err, "holds no device whose text contains 'H200'"));
  const Finished first = run(folder, {"renew", "--db", "orin.db"});
  INFO(first.err);
  REQUIRE(first.status == 0);
  CHECK(contains(first.out, "1 candidate renewed"));
  CHECK(contains(first.out, "1 changed, 0 not compiled"));
  const Finished again = run(folder, {"renew", "--db", "orin.db"});
  CHECK(contains(again.out, "0 candidates renewed"));
}
