// Which NVRTC is used beside which driver.
#include <map>
#include <utility>

#include "db/files/bundle.hpp"
#include "runtime/choose/catalogue.hpp"
#include "runtime/compile/find_nvrtc.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/library_fixture.hpp"
#include "tests/runtime/made_tree.hpp"

namespace tilesmith::runtime {
namespace {

using test::Tree;

/// A machine with toolkits of these releases, in the order in which they are tried.
class Machine {
 public:
  explicit Machine(std::initializer_list<std::pair<int, int>> releases) {
    places.loader_path = false;
    for (const auto& [major, minor] : releases) add(major, minor);
  }

  FoundNvrtc find() {
    return find_nvrtc(places, [&](const std::string& candidate) { return open(candidate); },
        {[&] {
           ++asked;
           return driver_version;
         },
            [&] { return has_device; }});
  }

  std::string file(int major, int minor) const {
    return (tree_.root() / folder(major, minor) / "lib64" / ("libnvrtc.so." + std::to_string(major))).string();
  }

  CudaPlaces places;
  int driver_version = 0;
  bool has_device = true;
  int asked = 0;  ///< times that the driver's version was

 private:
  static std::string folder(int major, int minor) {
    return "cuda-" + std::to_string(major) + "." + std::to_string(minor);
  }

  void add(int major, int minor) {
    const std::string toolkit = folder(major, minor);
    tree_.put(toolkit + "/lib64/libnvrtc.so." + std::to_string(major));
    tree_.put_headers(toolkit + "/include", std::to_string(major * 1000 + minor * 10));
    places.toolkits.push_back(tree_.root() / toolkit);
    releases_[file(major, minor)] = {major, minor};
  }

  FoundNvrtc open(const std::string& candidate) const {
    FoundNvrtc found;
    const auto known = releases_.find(candidate);
    if (known == releases_.end()) {
      found.problem = candidate + " is no NVRTC";
      return found;
    }
    found.nvrtc.major = known->second.first;
    found.nvrtc.minor = known->second.second;
    found.nvrtc.file = candidate;
    return found;
  }

  Tree tree_{"find_nvrtc"};
  std::map<std::string, std::pair<int, int>> releases_;
};

}  // namespace

TEST_CASE("a driver loads what any NVRTC of its own major release compiled, or of an older one") {
  CHECK(too_new_for_driver("12.0", 12040).empty());
  CHECK(too_new_for_driver("12.9", 12000).empty());
  CHECK(too_new_for_driver("12.6", 13000).empty());
  CHECK(too_new_for_driver("13.0", 0).empty());  // there is none
  const std::string reason = too_new_for_driver("13.0", 12040);
  for (const char* part : {"NVRTC 13.0", "supports CUDA 12.4", "expected NVRTC 12", "$TILESMITH_NVRTC"})
    CHECK(reason.find(part) != std::string::npos);
}

TEST_CASE("an NVRTC that is too new for the driver is passed over for one that is not") {
  Machine machine{{13, 0}, {12, 6}};
  machine.driver_version = 12040;
  const FoundNvrtc found = machine.find();
  CHECK(found.problem.empty());
  CHECK(found.nvrtc.file == machine.file(12, 6));
  REQUIRE(found.nvrtc.include_folders.size() == 1);
  CHECK(found.nvrtc.include_folders[0].string().find("cuda-12.6") != std::string::npos);
  machine.driver_version = 13000;
  CHECK(machine.find().nvrtc.file == machine.file(13, 0));
}

TEST_CASE("where there is no driver any NVRTC is used") {
  Machine machine{{13, 0}, {12, 6}};
  machine.has_device = false;
  CHECK(machine.find().nvrtc.file == machine.file(13, 0));
}

TEST_CASE("an NVRTC that is too new for the driver alone is refused beside a device, naming both") {
  Machine machine{{13, 0}};
  machine.driver_version = 12040;
  const std::string problem = machine.find().problem;
  CHECK(problem.find(machine.file(13, 0) + ": NVRTC 13.0 is newer than the driver, which supports CUDA 12.4") !=
        std::string::npos);
  CHECK(problem.find('\n') == std::string::npos);
  machine.has_device = false;  // the driver's library alone: what is compiled is for other machines
  CHECK(machine.find().problem.empty());
  CHECK(machine.find().nvrtc.file == machine.file(13, 0));
}

TEST_CASE("the NVRTC that is named is the user's choice, whatever the driver") {
  Machine machine{{13, 0}, {12, 6}};
  machine.driver_version = 12040;
  machine.places.nvrtc_file = machine.file(13, 0);
  CHECK(machine.find().nvrtc.file == machine.file(13, 0));
  machine.places.nvrtc_file = "/nowhere/libnvrtc.so.12";
  CHECK(machine.find().problem ==
        "NVRTC is not usable: $TILESMITH_NVRTC is '/nowhere/libnvrtc.so.12'; /nowhere/libnvrtc.so.12 is no NVRTC");
}

TEST_CASE("the driver is not asked about an NVRTC that the oldest of them serves") {
  Machine machine{{12, 6}};
  machine.driver_version = 12040;
  CHECK(machine.find().nvrtc.file == machine.file(12, 6));
  CHECK(machine.asked == 0);
}

TEST_CASE("a kernel that the driver refuses because its NVRTC is too new says so", "[api]") {
  const fake::LibraryFixture fixture;  // a driver of CUDA 12.4
  const char* where = "f16f32 NN 512 512 512";
  {
    db::Store store = db::Store::open(fixture.path("newer.db"));
    db::KernelBuild build = fixture.build(where, generic_config(fixture.target(fixture.problem(where))));
    build.key.nvrtc_version = "13.0";
    store.record_build(build);
  }
  const Library library = Library::open(fixture.path("newer.db"), fake::stored_only());
  fake::state().failures["module_load"] = CUDA_ERROR_INVALID_IMAGE;
  std::string said;
  try {
    library.plan(fixture.problem(where));
  } catch (const Error& error) {
    said = error.what();
  }
  CHECK(said.find("NVRTC 13.0 is newer than the driver, which supports CUDA 12.4") != std::string::npos);
}

TEST_CASE("of a config's stored kernels one that the driver loads is taken, in databases and bundles alike") {
  const fake::LibraryFixture fixture;
  const char* where = "f16f32 NN 512 512 512";
  const Config config = fixture.simt(32), lone = fixture.simt(64);
  const auto build_by = [&](const Config& of, const char* nvrtc) {
    db::KernelBuild build = fixture.build(where, of);
    build.key.nvrtc_version = nvrtc;
    return build;
  };
  const std::vector<db::KernelBuild> builds{build_by(config, "12.6"), build_by(config, "13.0"), build_by(lone, "13.0")};
  const std::filesystem::path path = fixture.path("kernels");
  SECTION("a database") {
    db::Store store = db::Store::open(path);
    for (const db::KernelBuild& build : builds) store.record_build(build);
  }
  SECTION("a bundle") {
    db::Bundle bundle;
    bundle.device = fixture.info.identity;
    bundle.arch = fixture.info.limits.arch;
    bundle.made_at = "2026-01-01T00:00:00.000Z";
    bundle.bests = {fixture.record(where, config, 9.5)};
    bundle.builds = builds;
    db::save_bundle(bundle, path);
  }
  const auto catalogue = open_catalogue(path);
  const auto found = [&](const Config& of, int driver_version) {
    const auto build = catalogue->find_build(build_by(of, "13.0").key, driver_version);
    return build ? build->key.nvrtc_version : "none";
  };
  CHECK(found(config, 12040) == "12.6");
  CHECK(found(config, 13000) == "13.0");
  CHECK(found(config, 0) == "13.0");
  CHECK(found(lone, 12040) == "13.0");  // the driver's refusal is told
}

}  // namespace tilesmith::runtime
