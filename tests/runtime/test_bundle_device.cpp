#include <algorithm>

#include "db/files/bundle.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/library_fixture.hpp"

using namespace tilesmith;
using Fixture = runtime::fake::LibraryFixture;
using runtime::fake::stored_only;

TEST_CASE("a bundle of another device is told once, when it opens", "[api]") {
  const Fixture fixture;
  const auto warned_of = [&](const db::DeviceIdentity& device, const LibraryOptions& options) {
    Fixture::logged().str("");
    db::Bundle bundle;
    bundle.device = device;
    bundle.arch = fixture.info.limits.arch;
    db::save_bundle(bundle, fixture.path("other.bundle"));
    const Library library = Library::open(fixture.path("other.bundle"), options);
    return Fixture::logged().str();
  };
  db::DeviceIdentity other = fixture.info.identity;
  other.name = "NVIDIA H100 PCIe";
  const std::string said = warned_of(other, stored_only());
  CHECK(said.find(db::text(other)) != std::string::npos);
  CHECK(said.find(db::text(fixture.info.identity)) != std::string::npos);
  CHECK(std::count(said.begin(), said.end(), '\n') == 1);
  CHECK(warned_of(fixture.info.identity, stored_only()).empty());
  LibraryOptions silent = stored_only();
  silent.log_misses = false;
  CHECK(warned_of(other, silent).empty());
}
