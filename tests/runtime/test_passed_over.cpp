// What becomes of a plan where the kernels of the best configs cannot be had.
#include <algorithm>
#include <new>
#include <utility>

#include "kernels/families/family.hpp"
#include "kernels/families/space.hpp"
#include "runtime/compile/nvrtc.hpp"
#include "runtime/interface/library_state.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/library_fixture.hpp"

using namespace tilesmith;
using runtime::fake::stored_only;
using Fixture = runtime::fake::LibraryFixture;

namespace {

namespace fake = runtime::fake;
constexpr const char* kWhere = "f16f32 NN 512 512 512";

/// Records of every config of `simt`, a kernel of some of them, and a note of what was asked for.
class FewKernels final : public runtime::Catalogue {
 public:
  FewKernels(const Fixture& fixture, std::vector<Config> built, int& asked)
      : fixture_(fixture), built_(std::move(built)), asked_(asked) {
    const Space space = enumerate_space(*find_family("simt"), fixture.target(Fixture::problem(kWhere)));
    double median_us = 5;
    for (const Config& config : space.configs) entries_.push_back(fixture.record(kWhere, config, median_us += 1));
  }

  std::vector<db::Record> records(const TypePair&, int) const override { return entries_; }
  std::vector<db::VendorTimes> vendor_times(const TypePair&, const db::DeviceIdentity&) const override { return {}; }
  std::optional<db::KernelBuild> find_build(const db::KernelKey& key, int) const override {
    ++asked_;
    for (const Config& config : built_) {
      if (config == key.config) return fixture_.build(kWhere, config);
    }
    return std::nullopt;
  }

  std::set<std::string> stored_configs(const KernelTarget&) const override {
    std::set<std::string> found;
    for (const Config& config : built_) found.insert(config.text());
    return found;
  }

  const Config& nth(std::size_t n) const { return entries_.at(n).config; }

 private:
  const Fixture& fixture_;
  std::vector<Config> built_;
  int& asked_;
  std::vector<db::Record> entries_;
};

Config generic(const Fixture& fixture) { return generic_config(fixture.target(Fixture::problem(kWhere))); }

/// A database with a best that has no kernel, and the generic one's.
std::filesystem::path with_stored_generic(const Fixture& fixture, const char* name) {
  const std::filesystem::path path = fixture.path(name);
  db::Store store = db::Store::open(path);
  store.record(fixture.record(kWhere, Fixture::simt(32), 9.5));
  store.record_build(fixture.build(kWhere, generic(fixture)));
  return path;
}

}  // namespace

TEST_CASE("of many configs without a kernel a few are tried, once, and then the generic one", "[api]") {
  const Fixture fixture;
  int asked = 0;
  auto catalogue = std::make_unique<FewKernels>(fixture, std::vector{generic(fixture)}, asked);
  const std::string first = catalogue->nth(0).text(), third = catalogue->nth(2).text();
  REQUIRE(catalogue->records({}, 90).size() > 200);
  runtime::LibraryState state(std::move(catalogue), stored_only());
  const Explanation why = state.plan(Fixture::problem(kWhere)).why;
  CHECK(why.level == "generic");
  CHECK(asked == 9);
  CHECK(why.reason.find("none of the 8 configs that would be best has a kernel that can run here") == 0);
  CHECK(why.reason.find(first + " was passed over: no kernel for") != std::string::npos);
  CHECK(why.reason.find(third) == std::string::npos);
  CHECK(why.reason.find("; and 6 more") != std::string::npos);
  CHECK(why.reason.size() < 1500);
  CHECK(state.plan(Fixture::problem(kWhere)).why.reason == why.reason);
  CHECK(asked == 9);
}

TEST_CASE("the best of the configs that have a kernel is taken, if it comes before too many without", "[api]") {
  const Fixture fixture;
  int asked = 0;
  const auto [place, level] = GENERATE(std::pair{7, "exact"}, std::pair{8, "generic"});
  const Config built = FewKernels(fixture, {}, asked).nth(std::size_t(place));
  runtime::LibraryState state(
      std::make_unique<FewKernels>(fixture, std::vector{generic(fixture), built}, asked), stored_only());
  for (int time = 0; time < 2; ++time) {
    const Explanation why = state.plan(Fixture::problem(kWhere)).why;
    CHECK(why.level == level);
    if (place == 7) CHECK(why.config == built.text());
  }
}

TEST_CASE("what fails for now is no word on the kernel: the plan says it, and the next one is as if nothing had been",
    "[api]") {
  const Fixture fixture;
  const std::filesystem::path path = fixture.small_database();
  {
    db::Store store = db::Store::open(path);
    store.record_build(fixture.build(kWhere, generic(fixture)));
  }
  const Library library = Library::open(path, stored_only());
  const auto [result, code] = GENERATE(std::pair{CUDA_ERROR_OUT_OF_MEMORY, ErrorCode::out_of_memory},
      std::pair{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, ErrorCode::device_failed},
      std::pair{CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, ErrorCode::device_failed},
      std::pair{CUDA_ERROR_INVALID_CONTEXT, ErrorCode::device_failed});
  const std::string call = GENERATE(as<std::string>(), "module_load", "module_get_function");
  fake::state().failures[call] = result;
  try {
    library.plan(Fixture::problem(kWhere));
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == code);
  }
  fake::state().failures.clear();
  const GemmPlan plan = library.plan(Fixture::problem(kWhere));
  CHECK(plan.explain().level == "exact");
  CHECK(plan.explain().reason.find("passed over") == std::string::npos);
}

TEST_CASE("a kernel that the device cannot load is not tried again", "[api]") {
  const Fixture fixture;
  const Library library = Library::open(fixture.small_database(), stored_only());
  fake::state().failures["module_load"] = CUDA_ERROR_NO_BINARY_FOR_GPU;
  const auto loads = [&] {
    fake::state().calls.clear();
    CHECK_THROWS_AS(library.plan(Fixture::problem(kWhere)), Error);  // there is no generic one
    return fake::count("module_load");
  };
  CHECK(loads() == 1);
  CHECK(loads() == 0);
}

TEST_CASE("a config whose clusters the device does not have is passed over", "[api]") {
  const Fixture fixture;
  const std::string where = "f16f32 NN 4096 4096 4096";
  const Problem problem = Fixture::problem(where);
  const Family& family = *find_family("wgmma");
  const auto asks_for_clusters = [&](const Config& config) {
    if (!eligible(family, config, problem)) return false;
    for (const Launch& launch : family.launches(config, as_planned(problem)).launches) {
      if (launch.resident_blocks_per_sm > 0 && launch.cluster.x * launch.cluster.y * launch.cluster.z > 1) return true;
    }
    return false;
  };
  const std::vector<Config> initial_configs = family.initial_configs(fixture.target(problem), problem);
  const auto best = std::find_if(initial_configs.begin(), initial_configs.end(), asks_for_clusters);
  REQUIRE(best != initial_configs.end());
  {
    db::Store store = db::Store::open(fixture.path("clusters.db"));
    for (const auto& [config, median_us] : {std::pair{*best, 5.0}, std::pair{Fixture::simt(32), 9.0}}) {
      store.record(fixture.record(where, config, median_us));
      store.record_build(fixture.build(where, config));
    }
  }
  const Library library = Library::open(fixture.path("clusters.db"), stored_only());
  CHECK(library.plan(problem).explain().config == best->text());
  for (const int code : {1, 912}) {  // 912: CUDA_ERROR_INVALID_CLUSTER_SIZE
    fake::state().failures["occupancy_max_active_clusters"] = CUresult(code);
    const Explanation why = library.plan(problem).explain();
    CHECK(why.config == Fixture::simt(32).text());
    CHECK(why.reason.find("was passed over: cuOccupancyMaxActiveClusters") != std::string::npos);
  }
}

TEST_CASE("a stored generic kernel that spills is better than none", "[api]") {
  const Fixture fixture;
  const std::filesystem::path path = fixture.path("spilled.db");
  {
    db::KernelBuild build = fixture.build(kWhere, generic(fixture));
    build.status = db::Status::spilled;
    build.spill_bytes = 8;
    build.message = "gemm spills 8 bytes";
    db::Store::open(path).record_build(build);
  }
  CHECK(Library::open(path, stored_only()).plan(Fixture::problem(kWhere)).explain().level == "generic");
}

TEST_CASE("a compiler that fails costs the config, not the plan, and is asked again", "[api]") {
  const Fixture fixture;
  const std::filesystem::path path = with_stored_generic(fixture, "generic.db");
  static int created;
  created = 0;
  runtime::Nvrtc failing;
  failing.major = 12;
  failing.create = [](runtime::Nvrtc::Program*, const char*, const char*, int, const char* const*, const char* const*) {
    ++created;
    return 11;
  };
  failing.error_text = [](int) { return "NVRTC_ERROR_INTERNAL_ERROR"; };
  const runtime::ScopedNvrtc scoped(failing);
  const Library library = Library::open(path);
  for (int time = 1; time <= 2; ++time) {
    const GemmPlan plan = library.plan(Fixture::problem(kWhere));
    CHECK(plan.explain().level == "generic");
    CHECK(plan.explain().reason.find("nvrtcCreateProgram: NVRTC_ERROR_INTERNAL_ERROR") != std::string::npos);
    CHECK(created == time);
  }
}

TEST_CASE("a compiler that has no memory ends the plan with that, whatever is stored", "[api]") {
  const Fixture fixture;
  const std::filesystem::path path = with_stored_generic(fixture, "memory.db");
  runtime::Nvrtc failing;
  failing.major = 12;
  failing.create = [](runtime::Nvrtc::Program*, const char*, const char*, int, const char* const*, const char* const*) {
    return 1;  // NVRTC_ERROR_OUT_OF_MEMORY
  };
  failing.error_text = [](int) { return "NVRTC_ERROR_OUT_OF_MEMORY"; };
  const runtime::ScopedNvrtc scoped(failing);
  const Library library = Library::open(path);
  CHECK_THROWS_AS(library.plan(Fixture::problem(kWhere)), std::bad_alloc);
}
