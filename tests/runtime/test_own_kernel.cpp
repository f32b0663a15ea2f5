// Kernels of one's own, compiled.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "kernels/families/tasks.hpp"
#include "kernels/families/user/load.hpp"
#include "runtime/compile/compiler.hpp"
#include "tests/catch.hpp"
#include "tests/kernel_folder.hpp"

namespace tilesmith::test_own_kernel_compiled {

namespace {

std::string_view text_of(const std::vector<std::byte>& cubin) {
  return {reinterpret_cast<const char*>(cubin.data()), cubin.size()};
}

}  // namespace

TEST_CASE("a kernel of one's own is compiled with the template arguments of its config") {
  const tests::KernelFolder folder("softmax_compiled");
  load_family_dir(folder.path());
  const Config config("softmax_compiled", {{"block", 256}, {"per_thread", 4}});
  const Task task = own::find_kernel("softmax_compiled")->at({});
  for (const char* arch : {"sm_87", "sm_90a"}) {
    const DeviceLimits limits = *limits_for_arch(arch);
    const db::KernelBuild build = runtime::compile(config, signature_text(task), limits);
    INFO(arch << ": " << build.message);
    REQUIRE(build.status == db::Status::ok);
    CHECK(build.registers > 0);
    CHECK(build.static_smem_bytes >= 1024);
    CHECK(text_of(build.cubin).find("softmaxILi256ELi4EE") != std::string_view::npos);
    const db::KernelKey key = runtime::kernel_key(config, task, limits);
    CHECK(key.kernel_hash.size() == 32);
    CHECK(key.kernel_hash == build.key.kernel_hash);
    CHECK(key.signature == "kernel softmax_compiled");
  }
}

TEST_CASE("a kernel of one's own that does not compile says where, and a config of none is refused") {
  tests::KernelFolder folder("softmax_broken");
  folder.write("maximum.cuh", "#pragma once\n__device__ float larger(float a, float b) { return a > c ? a : b; }\n");
  load_family_dir(folder.path());
  const DeviceLimits limits = *limits_for_arch("sm_90a");
  const Config config("softmax_broken", {{"block", 256}, {"per_thread", 4}});
  const db::KernelBuild build = runtime::compile(config, "kernel softmax_broken", limits);
  CHECK(build.status == db::Status::compile_failed);
  CHECK(build.message.find("maximum.cuh(2)") != std::string::npos);
  CHECK(runtime::compile(Config("softmax_broken", {}), "kernel softmax_broken", limits).status == db::Status::illegal);
  CHECK(runtime::compile(Config("gone", {}), "kernel gone", limits).status == db::Status::illegal);

  tests::KernelFolder other("softmax_elsewhere");
  other.with("softmax<block, per_thread>", "hardmax<block, per_thread>");
  load_family_dir(other.path());
  const db::KernelBuild no_entry = runtime::compile(
      Config("softmax_elsewhere", {{"block", 256}, {"per_thread", 4}}), "kernel softmax_elsewhere", limits);
  CHECK(no_entry.status == db::Status::compile_failed);
  CHECK(no_entry.message.find("hardmax") != std::string::npos);
}

TEST_CASE("a kernel may use what nvcc includes unasked, and standard headers") {
  tests::KernelFolder folder("softmax_standard");
  folder.write("maximum.cuh", R"cu(#pragma once
__device__ float least() { return uint32_t(M_PI) == 3 ? -INFINITY : NAN; }
#include <assert.h>
#include <stdio.h>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cub/cub.cuh>
#include <limits>
#include <type_traits>
#include <utility>
static_assert(sizeof(int64_t) == 8 && std::is_same_v<std::int32_t, int> && INT_MIN < 0 && FLT_MAX > 1);
static_assert(std::numeric_limits<float>::max() == FLT_MAX && std::pair<int, float>{2, 1}.first == 2);
__device__ float larger(float a, float b) {
  assert(std::isfinite(a));
  if (a == least()) printf("%f\n", std::sqrt(a));
  return std::fmax(a, b);
}
)cu");
  load_family_dir(folder.path());
  const Config config("softmax_standard", {{"block", 256}, {"per_thread", 4}});
  const db::KernelBuild build = runtime::compile(config, "kernel softmax_standard", *limits_for_arch("sm_87"));
  INFO(build.message);
  CHECK(build.status == db::Status::ok);
}

TEST_CASE("the first example of the page compiles as it stands") {
  std::ifstream file(std::filesystem::path(TILESMITH_SOURCE_DIR) / "docs/own_kernels.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const auto block = [&](const std::string& kind) {
    const std::size_t first = page.find("```" + kind + "\n") + kind.size() + 4;
    return page.substr(first, page.find("```\n", first) - first);
  };
  tests::KernelFolder folder;
  folder.write("kernel.json", block("json"));
  folder.write("softmax.cu", block("cuda"));
  const own::Kernel& kernel = *own::find_kernel(load_family_dir(folder.path()));
  const DeviceLimits limits = *limits_for_arch("sm_87");
  const Config config = kernel.space(kernel.at({}), limits).configs.front();
  const db::KernelBuild build = runtime::compile(config, signature_text(kernel.at({})), limits);
  INFO(build.message);
  CHECK(build.status == db::Status::ok);
}

TEST_CASE("a kernel that takes other arguments than kernel.json says is refused") {
  tests::KernelFolder folder("softmax_mistaken");
  folder.with(R"(, {"cols": "s32", "value": "cols"}])", R"(, {"cols": "s64", "value": "cols"}])");
  load_family_dir(folder.path());
  const own::Kernel& kernel = *own::find_kernel("softmax_mistaken");
  const Config config("softmax_mistaken", {{"block", 256}, {"per_thread", 4}});
  const db::KernelBuild build = runtime::compile(config, signature_text(kernel.at({})), *limits_for_arch("sm_87"));
  CHECK(build.status == db::Status::compile_failed);
  CHECK(build.message == "softmax<256, 4> takes arguments of 8, 8, 4 bytes: expected 8, 8, 8, those of kernel.json");
}

TEST_CASE("the first and the last config of every example kernel compile without spills") {
  for (const std::filesystem::path& folder : tests::example_kernels()) {
    const own::Kernel& kernel = *own::find_kernel(load_family_dir(folder));
    for (const char* arch : {"sm_87", "sm_90a"}) {
      const DeviceLimits limits = *limits_for_arch(arch);
      const std::vector<Config> configs = kernel.space(kernel.at({}), limits).configs;
      REQUIRE_FALSE(configs.empty());
      for (const Config& config : {configs.front(), configs.back()}) {
        const db::KernelBuild build = runtime::compile(config, signature_text(kernel.at({})), limits);
        INFO(arch << ": " << config.text() << ": " << build.message);
        CHECK(build.status == db::Status::ok);
        CHECK(build.spill_bytes == 0);
      }
    }
  }
}

}  // namespace tilesmith::test_own_kernel_compiled
