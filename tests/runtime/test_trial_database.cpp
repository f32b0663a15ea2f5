// What a library's trials found, kept for the next start.
#include "db/store/sqlite.hpp"
#include "runtime/choose/choosers.hpp"
#include "runtime/choose/trial.hpp"
#include "tests/catch.hpp"
#include "tests/db/sample.hpp"
#include "tests/runtime/library_fixture.hpp"

using namespace tilesmith;
using namespace tilesmith::runtime;
using namespace tilesmith::runtime::fake;
using tilesmith::db::test::contains;

namespace {

const std::string kProblem = "f16f32 NN 500 512 512";

LibraryOptions with_trials_in(const std::filesystem::path& path) {
  LibraryOptions options = stored_only();
  options.trial_budget = 4;
  options.trial_database = path;
  return options;
}

std::vector<db::Record> trials_of(const std::filesystem::path& path) {
  std::vector<db::Record> entries = db::Store::open_read_only(path).records();
  std::erase_if(entries, [](const db::Record& entry) { return !db::is_trial(entry.environment); });
  return entries;
}

}  // namespace

TEST_CASE("a trial's winner is the exact entry of the next start, in the opened database or one beside it", "[trial]") {
  const LibraryFixture fixture;
  const std::filesystem::path opened = fixture.small_database();
  const std::filesystem::path trials = GENERATE(false, true) ? opened : fixture.path("trials.db");
  {
    const Library library = Library::open(opened, with_trials_in(trials));
    CHECK(library.plan(fixture.problem(kProblem)).explain().level == "trial");
    CHECK(library.plan(fixture.problem(kProblem)).explain().level == "trial");  // of this start, from then on
  }
  const std::vector<db::Record> kept = trials_of(trials);
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].outcome.status == db::Status::ok);
  CHECK(kept[0].outcome.timing->samples > 1);
  CHECK(contains(kept[0].outcome.message, "never verified"));
  CHECK(kept[0].run == "trial");
  CHECK(kept[0].device == fixture.info.identity);
  CHECK(kept[0].environment.driver_version == fixture.info.driver_version);

  const std::size_t memsets = runtime::fake::count("memset_u8_async");
  const Library library = Library::open(opened, with_trials_in(trials));
  const Explanation why = library.plan(fixture.problem(kProblem)).explain();
  CHECK(why.level == "exact");
  CHECK(why.config == kept[0].config.text());
  CHECK(why.trust == "remeasure");
  CHECK(contains(why.reason, "in a trial"));
  CHECK(runtime::fake::count("memset_u8_async") == memsets);  // nothing is tried again
  CHECK(trials_of(trials).size() == 1);
}

TEST_CASE("without a name no trial is kept", "[trial]") {
  const LibraryFixture fixture;
  const std::filesystem::path opened = fixture.small_database();
  const std::string before = db::test::slurp(opened);
  CHECK(Library::open(opened, with_trials_in("")).plan(fixture.problem(kProblem)).explain().level == "trial");
  CHECK(db::test::slurp(opened) == before);
}

TEST_CASE("a trial that cannot be kept or read is a line of the log, and the plan is made", "[trial]") {
  const LibraryFixture fixture;
  const std::filesystem::path opened = fixture.small_database();
  std::filesystem::path trials = fixture.path("no_such_folder/trials.db");
  bool is_there = true;
  SECTION("no folder") { is_there = false; }
  SECTION("another program's file") {
    trials = fixture.path("notes.txt");
    db::test::spill(trials, "notes");
  }
  SECTION("of a newer schema") {
    trials = fixture.path("newer.db");
    { db::Store::open(trials); }
    const db::Database newer(trials.string(), SQLITE_OPEN_READWRITE, "newer.db");
    newer.execute("PRAGMA user_version = 99");
  }
  const Library library = Library::open(opened, with_trials_in(trials));
  CHECK(contains(LibraryFixture::logged().str(), "trials are not read: ") == is_there);
  LibraryFixture::logged().str("");
  CHECK(library.plan(fixture.problem(kProblem)).explain().level == "trial");
  const std::string log = LibraryFixture::logged().str();
  const std::size_t at = log.find("a trial's winner is not kept: ");
  REQUIRE(at != std::string::npos);
  CHECK(contains(log, trials.string()));
  CHECK(log.find("a trial's winner", at + 1) == std::string::npos);
}

TEST_CASE("a measurement outranks a trial, and says what today's measuring policy is", "[trial]") {
  const LibraryFixture fixture;
  const std::filesystem::path opened = fixture.small_database();
  { Library::open(opened, with_trials_in(opened)).plan(fixture.problem(kProblem)); }
  db::Record measured = fixture.record(kProblem, LibraryFixture::simt(64), 1e6);
  db::Store::open(opened).record_build(fixture.build(kProblem, LibraryFixture::simt(64)));
  measured.id = db::Store::open(opened).record(measured);
  const Explanation why = Library::open(opened, with_trials_in(opened)).plan(fixture.problem(kProblem)).explain();
  CHECK(why.level == "exact");
  CHECK(why.trust == "valid");
  CHECK(why.config == measured.config.text());

  db::Record trial = measured;
  trial.id = measured.id + 1;
  trial.environment.measuring_policy = db::kTrialPolicy;
  const std::vector<db::Record> entries{trial, measured};
  const auto now =
      environment_to_judge_by(entries, "simt", fixture.info.identity, fixture.target(measured.task.problem()), "");
  CHECK(now.measuring_policy == measured.environment.measuring_policy);
}

TEST_CASE("a trial of a candidate that was measured adds nothing to the database but its kernel", "[trial]") {
  const LibraryFixture fixture;
  const std::filesystem::path path = fixture.path("trials.db");
  const db::Record measured = fixture.record(kProblem, LibraryFixture::simt(32), 10);
  { db::Store::open(path).record(measured); }
  db::Record trial = measured;
  trial.environment.measuring_policy = db::kTrialPolicy;
  const db::KernelBuild build = fixture.build(kProblem, LibraryFixture::simt(32));
  keep_trial(path, trial, &build);
  CHECK(trials_of(path).empty());
  CHECK(db::Store::open_read_only(path).find_build(build.key));
  trial.config = LibraryFixture::simt(64);
  trial.plan_hash = plan_hash(trial.config, trial.task.problem(), trial.environment.compiler_options);
  keep_trial(path, trial, nullptr);
  keep_trial(path, trial, nullptr);
  CHECK(trials_of(path).size() == 1);
  CHECK(LibraryFixture::logged().str().empty());
}

TEST_CASE("what was measured of a former kernel does not keep a trial out of the database", "[trial]") {
  const LibraryFixture fixture;
  const std::filesystem::path path = fixture.path("trials.db");
  db::Record former = fixture.record(kProblem, LibraryFixture::simt(32), 10);
  db::Record trial = former;
  trial.environment.measuring_policy = db::kTrialPolicy;
  former.plan_hash = "0123456789abcdef";
  { db::Store::open(path).record(former); }
  keep_trial(path, trial, nullptr);
  keep_trial(path, trial, nullptr);
  CHECK(trials_of(path).size() == 1);
}
