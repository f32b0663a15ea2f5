// Plans that come early, as they are and with their waits taken out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/compile/compiler.hpp"
#include "runtime/plan/plan.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/planted_bug.hpp"

namespace tilesmith::test {

inline constexpr planted::Edit kNoWait{"griddepcontrol.wait;", ""};  // in each of two places (overlap.cuh)

/// `edits`: what of the template to change.
inline runtime::Plan early_plan(const runtime::Context& context, const char* text, const Problem& problem,
    const std::vector<planted::Edit>& edits) {
  const Config config = *Config::parse(text);
  const KernelTarget target{problem, context.info().limits};
  INFO(text);
  REQUIRE_FALSE(illegal_because(*find_family(config.family()), config, target));
  const std::string family(config.family()), type(problem.type.name);
  const planted::Bug bug{"it does not wait", family.c_str(), 0, type.c_str(), problem.trans, edits, text};
  const runtime::SourceBuild built = runtime::compile_source(
      planted::planted_source(bug, target), "early.cu", "gemm", runtime::compiler_options(target));
  INFO(built.log);
  REQUIRE(built.ok);
  return runtime::Plan(std::make_shared<const runtime::Module>(built.cubin), config, problem);
}

}  // namespace tilesmith::test
