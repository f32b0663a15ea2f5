// Plans of kernels of one's own, on a driver that notes what it is asked.
#include <cstring>

#include "runtime/plan/own_plan.hpp"
#include "tests/catch.hpp"
#include "tests/kernel_folder.hpp"
#include "tests/runtime/fake_driver.hpp"

namespace tilesmith::runtime {

namespace {

struct Launched {
  unsigned grid = 0, block = 0, smem_bytes = 0;
  CUstream stream = nullptr;
  std::uint64_t first = 0, second = 0;
  std::int32_t third = 0;
};
std::vector<Launched> launched;

/// Of kernels with two buffers and an s32.
Driver noting_driver() {
  Driver table = fake::table();
  table.launch_kernel = [](CUfunction, unsigned x, unsigned, unsigned, unsigned block, unsigned, unsigned,
                            unsigned smem, CUstream stream, void** parameters, void**) {
    Launched one{x, block, smem, stream};
    std::memcpy(&one.first, parameters[0], 8);
    std::memcpy(&one.second, parameters[1], 8);
    std::memcpy(&one.third, parameters[2], 4);
    launched.push_back(one);
    return fake::note("launch_kernel");
  };
  return table;
}

struct OwnFixture {
  OwnFixture() {
    fake::state() = {};
    launched.clear();
  }
  tests::KernelFolder folder;
  Driver table = noting_driver();
  ScopedDriver scoped{table};
  std::vector<std::string> symbols{"_Z5naivePfPKfi", "_Z7softmaxILi256ELi4EEvPfPKfi"};

  OwnPlan plan(const own::Kernel& kernel, std::vector<Launch> launches) {
    const std::vector<std::byte> image(64);
    return OwnPlan(std::make_shared<const Module>(image), symbols, kernel, kernel.at({}), launches);
  }
  std::vector<void*> buffers{reinterpret_cast<void*>(0x1000), reinterpret_cast<void*>(0x2004)};
};

}  // namespace

TEST_CASE("a plan of a kernel of one's own launches it with its buffers and values in their order") {
  OwnFixture f;
  const own::Kernel kernel = f.folder.read();
  const Config config(kernel.name(), {{"block", 256}, {"per_thread", 4}});
  const OwnPlan plan = f.plan(kernel, kernel.launches(config, kernel.at({})));
  fake::state().calls.clear();
  CHECK(plan.run(f.buffers, reinterpret_cast<CUstream>(0x77)) == 0);
  CHECK(fake::state().calls == std::vector<std::string>{"launch_kernel"});
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].grid == 4096);
  CHECK(launched[0].block == 256);
  CHECK(launched[0].stream == reinterpret_cast<CUstream>(0x77));
  CHECK(launched[0].first == 0x1000);
  CHECK(launched[0].second == 0x2004);
  CHECK(launched[0].third == 1000);

  const OwnPlan reference = f.plan(kernel, kernel.reference_launches(kernel.at({})));
  CHECK(reference.run(f.buffers, nullptr) == 0);
  CHECK(launched.back().block == 1);
}

TEST_CASE("a plan of a kernel of one's own launches nothing with buffers that are not its own") {
  OwnFixture f;
  const own::Kernel kernel = f.folder.read();
  const OwnPlan plan = f.plan(kernel, kernel.reference_launches(kernel.at({})));
  CHECK(plan.run(std::span(f.buffers).first(1), nullptr) == OwnPlan::kWrongCount);
  f.buffers[1] = reinterpret_cast<void*>(0x2002);
  CHECK(plan.run(f.buffers, nullptr) == OwnPlan::kMisaligned);
  f.buffers[1] = nullptr;
  CHECK(plan.run(f.buffers, nullptr) == OwnPlan::kMisaligned);
  CHECK(launched.empty());
}

TEST_CASE("a kernel of one's own that the module lacks, or has twice, is no plan") {
  OwnFixture f;
  const own::Kernel kernel = f.folder.read();
  const Config other(kernel.name(), {{"block", 512}, {"per_thread", 4}});
  // The one instance of the name is it, whatever its arguments are.
  CHECK_NOTHROW(f.plan(kernel, kernel.launches(other, kernel.at({}))));
  f.symbols.push_back("_Z7softmaxILi128ELi4EEvPfPKfi");
  CHECK_THROWS_AS(f.plan(kernel, kernel.launches(other, kernel.at({}))), std::invalid_argument);
  f.symbols.clear();
  CHECK_THROWS_AS(f.plan(kernel, kernel.launches(other, kernel.at({}))), std::invalid_argument);
}

}  // namespace tilesmith::runtime
