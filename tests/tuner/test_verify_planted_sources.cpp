#include <string>

#include "runtime/compiler.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/planted_bugs.hpp"
#include "tuner/verify/reference_kernels.hpp"

using namespace tilesmith;

TEST_CASE("every planted bug still applies to the template it is planted in") {
  for (const planted::Bug& bug : planted::all_bugs()) {
    const KernelTarget target{*find_type_pair(bug.type), bug.trans, *limits_for_arch("sm_90a")};
    INFO(bug.family << ": " << bug.name);
    CHECK_FALSE(illegal_because(*find_family(bug.family), planted::config_of(bug, target), target));
    std::string source;
    REQUIRE_NOTHROW(source = planted::planted_source(bug, target));
    planted::Bug right = bug;
    right.edits.clear();
    CHECK(source != planted::planted_source(right, target));
    CHECK(source.find("#include \"") == std::string::npos);
  }
}

TEST_CASE("every planted bug compiles to another kernel than the right one", "[.compile]") {
  REQUIRE(runtime::nvrtc_unavailable_because().empty());
  for (const char* arch : {"sm_87", "sm_90a"}) {
    for (const planted::Bug& bug : planted::all_bugs()) {
      const KernelTarget target{*find_type_pair(bug.type), bug.trans, *limits_for_arch(arch)};
      // Hopper's ways are compiled for Hopper alone, where each config is legal (above).
      if (illegal_because(*find_family(bug.family), planted::config_of(bug, target), target)) continue;
      const auto build = [&](const planted::Bug& of) {
        return runtime::compile_source(planted::planted_source(of, target), "planted.cu", "gemm",
                                       runtime::compiler_options(target));
      };
      const runtime::SourceBuild built = build(bug);
      INFO(arch << " " << bug.family << ": " << bug.name << ": " << built.log);
      CHECK(built.ok);
      planted::Bug right = bug;
      right.edits.clear();
      CHECK(built.cubin != build(right).cubin);  // what is edited is not a part that this config leaves out
    }
  }
}

TEST_CASE("the reference kernels compile for every element format, without spills") {
  if (!runtime::nvrtc_unavailable_because().empty()) return;  // says nothing about the source
  // Every element format once as operand and once as output; the others differ in nothing that compiles.
  for (const char* pair : {"f16f32f16", "bf16f32bf16", "tf32f32", "u8s32", "f64f64"}) {
    const TypePair& type = *find_type_pair(pair);
    const KernelTarget target{type, {}, *limits_for_arch("sm_87")};
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
