// Another architecture's code on a later device: what is compiled, under which limits, and under whose name.
#include <string_view>

#include "kernels/families/space.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/driver/device.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/fake_driver.hpp"

namespace tilesmith::runtime {
namespace {

DeviceInfo device_of(const char* name, const char* arch) {
  DeviceInfo device;
  device.identity.name = name;
  device.identity.sm_count = 132;
  device.limits = *limits_for_arch(arch);
  device.identity.sm = device.limits.sm;
  device.identity.smem_per_sm_bytes = device.limits.smem_per_sm_bytes;
  return device;
}

std::size_t largest_smem_bytes(const Family& family, const KernelTarget& target) {
  const Problem problem = packed_problem(target, 4096, 4096, 4096);
  std::size_t largest = 0;
  for (const Config& config : enumerate_space(family, target).configs) {
    if (family.refusal(config, problem)) continue;
    for (const Launch& launch : family.launches(config, problem).launches) {
      largest = std::max(largest, launch.dynamic_smem_bytes);
    }
  }
  return largest;
}

}  // namespace

TEST_CASE("a target is known by its real and by its virtual name, with the same limits") {
  const auto real = limits_for_target("sm_87");
  const auto on_paper = limits_for_target("compute_87");
  REQUIRE(real);
  REQUIRE(on_paper);
  CHECK(real->arch == "sm_87");
  CHECK(on_paper->arch == "compute_87");
  CHECK(on_paper->sm == 87);
  CHECK(on_paper->smem_per_block_bytes == 163 * 1024);
  CHECK(on_paper->threads_per_sm == real->threads_per_sm);
  CHECK(limits_for_target("compute_90a")->sm == 90);
  for (const char* unknown : {"", "87", "sm_", "compute_", "compute_42", "compute_sm_87", "sm_compute_87"}) {
    CAPTURE(unknown);
    CHECK_FALSE(limits_for_target(unknown));
  }
}

TEST_CASE("a device runs the code of its own and of older architectures, and says why it runs no other") {
  const DeviceInfo hopper = device_of("NVIDIA H200", "sm_90a");
  for (const char* arch : {"sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a"}) {
    CAPTURE(arch);
    CHECK_FALSE(as_refusal(hopper, arch));
  }
  const DeviceInfo ampere = device_of("Orin", "sm_87");
  CHECK_FALSE(as_refusal(ampere, "sm_87"));
  CHECK(as_refusal(ampere, "sm_89").value() == "Orin is sm_87; expected an architecture no newer than that");
  CHECK(as_refusal(ampere, "sm_90a").has_value());
  CHECK(as_refusal(ampere, "sm_42").value().find("sm_80, sm_86") != std::string::npos);

  DeviceInfo later = device_of("Later", "sm_90");
  later.limits.arch = "sm_100a";
  later.limits.sm = 100;
  CHECK_FALSE(as_refusal(later, "sm_90"));
  CHECK(as_refusal(later, "sm_90a").value().find("runs on sm_90 alone") != std::string::npos);
  CHECK_THROWS_AS(device_as(ampere, "sm_90"), DeviceError);
}

TEST_CASE("a device that runs as another has that one's limits and a name of its own") {
  const DeviceInfo hopper = device_of("NVIDIA H200", "sm_90a");
  const DeviceInfo as = device_as(hopper, "sm_87");
  CHECK(as.identity.name == "NVIDIA H200 as sm_87");
  CHECK(as.identity.sm == 87);
  CHECK(as.identity.sm_count == 132);
  CHECK(as.identity.smem_per_sm_bytes == 164 * 1024);
  CHECK(as.limits.arch == "compute_87");
  CHECK(as.limits.smem_per_block_bytes == 163 * 1024);
  CHECK(db::ran_as(as.identity) == "sm_87");
  CHECK(db::ran_as(hopper.identity).empty());
  CHECK_FALSE(db::text(as.identity) == db::text(hopper.identity));
  // As itself it is another device still: PTX is not what ships.
  CHECK_FALSE(device_as(hopper, "sm_90a").identity == hopper.identity);
}

TEST_CASE("a later device with less shared memory than the architecture offers no config that it cannot launch") {
  CHECK(device_as(device_of("Ada", "sm_89"), "sm_87").limits.smem_per_block_bytes == 99 * 1024);
}

TEST_CASE("a context can be of a device as another architecture") {
  const fake::FakeDriver driver;
  auto& attributes = fake::state().attributes;
  attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 9;
  attributes[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] = 232448;
  const Context context(0, "sm_87");
  CHECK(context.info().identity.name == "NVIDIA Fake as sm_87");
  CHECK(context.info().limits.smem_per_block_bytes == 163 * 1024);
  CHECK(Context(0).info().limits.arch == "sm_90a");
  attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 8;
  CHECK_THROWS_AS(Context(0, "sm_87"), DeviceError);
}

TEST_CASE("no config of any family asks for more shared memory than sm_87 has, though some do for sm_90a") {
  bool more_on_hopper = false;
  for (const auto& family : families()) {
    for (const char* pair : {"f16f32", "f64f64"}) {
      const TypePair type = *find_type_pair(pair);
      const KernelTarget as{{type, {}}, *virtual_limits("sm_87")};
      if (!family->supports(as)) continue;
      INFO(family->name() << " " << pair);
      const std::size_t largest = largest_smem_bytes(*family, as);
      CHECK(largest <= 163 * 1024);
      more_on_hopper =
          more_on_hopper || largest_smem_bytes(*family, {{type, {}}, *limits_for_arch("sm_90a")}) > 163 * 1024;
    }
  }
  CHECK(more_on_hopper);
}

TEST_CASE("every family compiles to PTX for a virtual architecture, under a key of its own") {
  const TypePair type = *find_type_pair("f16f32");
  const KernelTarget real{{type, {}}, *limits_for_arch("sm_87")};
  const KernelTarget as{{type, {}}, *virtual_limits("sm_87")};
  CHECK(compiler_options_text(as).find("--gpu-architecture=compute_87") != std::string::npos);
  for (const auto& family : families()) {
    if (!family->supports(as)) continue;
    const std::vector<Config> initial_configs = family->initial_configs(as, ordinary_problem(as));
    const Config config =
        initial_configs.empty() ? enumerate_space(*family, as).configs.front() : initial_configs.front();
    const db::KernelBuild build = compile(config, as);
    CAPTURE(config.text(), build.message);
    REQUIRE(build.status == db::Status::ok);
    const std::string_view text(reinterpret_cast<const char*>(build.cubin.data()), build.cubin.size());
    CHECK(text.find(".target sm_87") != std::string_view::npos);
    CHECK(build.spill_bytes == 0);
    CHECK(build.key.arch == "compute_87");
    const db::KernelKey other = kernel_key(config, real);
    CHECK(other.arch != build.key.arch);
    CHECK(other.compiler_options != build.key.compiler_options);
    CHECK(other.kernel_hash != build.key.kernel_hash);  // the options are part of it
  }
}

}  // namespace tilesmith::runtime
