// Families of an application's own in the library: how they are loaded, and that nothing unproven of them runs.
#include <cstdlib>

#include "runtime/interface/tilesmith.h"
#include "tests/catch.hpp"
#include "tests/family_folder.hpp"
#include "tests/runtime/choose_toy.hpp"
#include "tests/runtime/library_fixture.hpp"

using namespace tilesmith;
using namespace tilesmith::runtime;

namespace {

using Fixture = fake::LibraryFixture;

/// As the toy of the other tests of choosing, but its kernels need proof.
class Unproven final : public Family {
 public:
  std::string_view name() const override { return "unproven_toy"; }
  std::string_view summary() const override { return "for tests of choosing"; }
  bool supports(const KernelTarget&) const override { return true; }
  std::vector<Parameter> parameters(const KernelTarget&) const override { return {{"tile", {16, 64}, "block tile"}}; }
  std::vector<Rule> rules(const KernelTarget&) const override { return {}; }
  std::optional<std::string> refusal(const Config&, const Problem&) const override { return std::nullopt; }
  LaunchSequence launches(const Config&, const Problem&) const override { return {{Launch{}}, 0}; }
  std::string source(const Config&, const KernelTarget&) const override { return {}; }
  bool needs_proof() const override { return true; }
  std::vector<Config> initial_configs(const KernelTarget&) const override {
    return {Config("unproven_toy", {{"tile", 16}})};
  }
  std::optional<Estimate> estimate(const Config&, const KernelTarget&, const Problem&) const override {
    Estimate made;
    made.cycles = 1;
    return made;
  }
};

Config unproven(int tile) { return Config("unproven_toy", {{"tile", tile}}); }

}  // namespace

TEST_CASE("the library runs of a family that needs proof only kernels that were verified", "[choose][family_dir]") {
  using namespace choosing;
  if (find_family("unproven_toy") == nullptr) register_family(std::make_unique<Unproven>());
  Given given;
  const auto chosen = [&] { return given.choose("f16f32 NN 512 512 512").config; };
  given.entries = {entry("f16f32 NN 512 512 512", unproven(64), 9)};
  CHECK(chosen() == unproven(64));
  given.entries = {entry("f16f32 NN 1024 512 512", unproven(64), 9)};  // the same kernel
  CHECK(chosen() == unproven(64));
  given.entries = {entry("f16f32 NT 512 512 512", unproven(64), 9)};  // another kernel
  CHECK(chosen().family() == "simt");
  given.entries = {entry("f16f32 NN 1024 512 512", unproven(64), 9)};
  given.entries[0].plan_hash = "of a former template";
  CHECK(chosen().family() == "simt");
  given.entries = {entry("f16f32 NN 1024 512 512", toy(64), 9)};
  given.entries[0].plan_hash = "of a former template";
  CHECK(chosen() == toy(64));

  // Nor an initial config of it, or what a bundle holds without a word on it.
  const Problem wanted = problem("f16f32 NN 512 512 512");
  const KernelTarget target{wanted, *limits_for_arch("sm_90a")};
  const StoredKernels stored{[](const Config&) { return true; }, {unproven(64)}};
  const Chooser chooser({}, target, environment, nullptr, stored);
  CHECK(chooser.choose(wanted, {}).config.family() != "unproven_toy");
  for (const auto& one : chooser.candidates(wanted, 100, {})) CHECK(one.config.family() != "unproven_toy");
}

TEST_CASE("the library loads families of the application's own and runs what was tuned of them", "[api][family_dir]") {
  const Fixture fixture;
  const tests::FamilyFolder folder("in_library");
  LibraryOptions options = fake::stored_only();
  options.family_dirs = {folder.path()};
  (void)Library::without_database(options);
  REQUIRE(find_family("in_library") != nullptr);

  const Config config("in_library", {{"tile", 32}, {"step", 16}});
  {
    db::Store store = db::Store::open(fixture.path("own.db"));
    store.record(fixture.record("f16f32 NN 512 512 512", config, 5));
    store.record_build(fixture.build("f16f32 NN 512 512 512", config));
  }
  const Library library = Library::open(fixture.path("own.db"), options);
  const GemmPlan plan = library.plan(Fixture::problem("f16f32 NN 512 512 512"));
  CHECK(plan.explain().level == "exact");
  CHECK(plan.explain().config == config.text());
}

TEST_CASE("records of a family that is not loaded is one line in the library's log", "[api][family_dir]") {
  const Fixture fixture;
  const auto path = fixture.small_database();
  db::Store store = db::Store::open(path);
  store.record(fixture.record("f16f32 NN 512 512 512", Config("never_loaded", {{"tile", 32}}), 1));
  const Library library = Library::open(path, fake::stored_only());
  CHECK(library.plan(Fixture::problem("f16f32 NN 512 512 512")).explain().config == Fixture::simt(32).text());
  const std::string logged = Fixture::logged().str();
  CHECK(logged.find("records of never_loaded are passed over: not loaded") != std::string::npos);
}

TEST_CASE("from C, folders of families are colon-separated, and one that is not right is a bad argument",
    "[api][family_dir]") {
  const Fixture fixture;
  const tests::FamilyFolder one("from_c_one"), two("from_c_two");
  tilesmith_options options = TILESMITH_OPTIONS;
  CHECK(options.family_dirs == nullptr);
  const std::string both = one.path().string() + ":" + two.path().string();
  options.family_dirs = both.c_str();
  tilesmith_library* library = nullptr;
  REQUIRE(tilesmith_open_with_options(nullptr, &options, &library) == TILESMITH_OK);
  tilesmith_close(library);
  CHECK(find_family("from_c_one") != nullptr);
  CHECK(find_family("from_c_two") != nullptr);
  options.family_dirs = "/none";
  CHECK(tilesmith_open_with_options(nullptr, &options, &library) == TILESMITH_BAD_ARGUMENT);
  CHECK(
      std::string(tilesmith_last_error()) == "/none: is no folder, expected one that holds family.json or kernel.json");

  options.size = offsetof(tilesmith_options, family_dirs);  // of a program that was compiled before there was the field
  REQUIRE(tilesmith_open_with_options(nullptr, &options, &library) == TILESMITH_OK);
  tilesmith_close(library);
}

TEST_CASE("the library loads the families that the environment names", "[api][family_dir]") {
  const Fixture fixture;
  const tests::FamilyFolder folder("by_variable");
  ::setenv("TILESMITH_FAMILY_DIR", folder.path().c_str(), 1);
  (void)Library::without_database(fake::stored_only());
  ::setenv("TILESMITH_FAMILY_DIR", "/none", 1);
  CHECK_THROWS_AS(Library::without_database(fake::stored_only()), Error);
  ::unsetenv("TILESMITH_FAMILY_DIR");
  CHECK(find_family("by_variable") != nullptr);
}
