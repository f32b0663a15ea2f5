#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "runtime/compile/compiler.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/planted_bugs.hpp"
#include "tests/long_tests.hpp"
#include "tests/quick_compile.hpp"
#include "tuner/verify/reference_kernels.hpp"

using namespace tilesmith;

TEST_CASE("every planted bug still applies to the template it is planted in") {
  for (const planted::Bug& bug : planted::all_bugs()) {
    const KernelTarget target = bug.target(*limits_for_arch("sm_90a"));
    INFO(bug.family << ": " << bug.name);
    CHECK_FALSE(illegal_because(*find_family(bug.family), planted::config_of(bug, target), target));
    std::string source;
    CHECK_NOTHROW(source = planted::planted_source(bug, target));
    if (source.empty()) continue;
    planted::Bug right = bug;
    right.edits.clear();
    CHECK(source != planted::planted_source(right, target));
    CHECK(source.find("#include \"") == std::string::npos);
  }
}

TEST_CASE("every planted bug changes its kernel: what is edited is no part that the config leaves out") {
  if (!runtime::nvrtc_unavailable_because().empty()) return;  // says nothing about the source
  std::map<std::string, std::vector<std::byte>> right;        // PTX, by source
  const std::vector<planted::Bug> bugs = planted::all_bugs();
  const std::size_t step = tests::long_tests() ? 1 : 4;
  for (std::size_t i = 0; i < bugs.size(); i += step) {
    const planted::Bug& bug = bugs[i];
    const KernelTarget target = bug.target(*limits_for_arch("sm_90a"));
    KernelTarget to_ptx = target;
    to_ptx.limits.arch = "compute_90a";
    const std::vector<std::string> options = tests::optimising_less(runtime::compiler_options(to_ptx));
    const auto ptx_of = [&](const std::string& source) {
      const runtime::SourceBuild built = runtime::compile_source(source, "planted.cu", "gemm", options);
      INFO(bug.family << ": " << bug.name << ": " << built.log);
      REQUIRE(built.ok);
      return built.cubin;
    };
    planted::Bug without = bug;
    without.edits.clear();
    const auto [known, is_new] = right.try_emplace(planted::planted_source(without, target));
    if (is_new) known->second = ptx_of(known->first);
    INFO(bug.family << ": " << bug.name);
    const bool changed = ptx_of(planted::planted_source(bug, target)) != known->second;
    CHECK(changed);
  }
}

TEST_CASE("every planted bug compiles", "[.compile]") {
  REQUIRE(runtime::nvrtc_unavailable_because().empty());
  for (const char* arch : {"sm_87", "sm_90a"}) {
    for (const planted::Bug& bug : planted::all_bugs()) {
      const KernelTarget target = bug.target(*limits_for_arch(arch));
      // Hopper's ways are compiled for Hopper alone, where each config is legal (above).
      if (illegal_because(*find_family(bug.family), planted::config_of(bug, target), target)) continue;
      const runtime::SourceBuild built = runtime::compile_source(
          planted::planted_source(bug, target), "planted.cu", "gemm", runtime::compiler_options(target));
      INFO(arch << " " << bug.family << ": " << bug.name << ": " << built.log);
      CHECK(built.ok);
    }
  }
}

TEST_CASE("the reference kernels compile for every element format, without spills") {
  if (!runtime::nvrtc_unavailable_because().empty()) return;  // says nothing about the source
  // Every element format once as operand and once as output; the others differ in nothing that compiles.
  for (const char* pair :
      {"f16f32f16", "bf16f32bf16", "tf32f32", "u8s32", "f64f64", "s4s32", "u4s32", "b1s32", "b1xors32"}) {
    const TypePair& type = *find_type_pair(pair);
    const KernelTarget target{{type, {}}, *limits_for_arch("sm_87")};
    const std::string source = tuner::reference_source(type);
    for (const std::string& entry : tuner::reference_entries()) {
      INFO(entry);
      CHECK(source.find("__global__ void " + entry + "(") != std::string::npos);
    }
    const runtime::SourceBuild built =
        runtime::compile_source(source, "verify.cu", "compare_cases", runtime::compiler_options(target));
    INFO(type.name << ": " << built.log);
    CHECK(built.ok);
    CHECK(built.spill_bytes == 0);
  }
}
