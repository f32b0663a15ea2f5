// α and β in device memory: as text, as operands, and in what a kernel is compiled from.
#include "kernels/families/family.hpp"
#include "kernels/families/plan_hash.hpp"
#include "kernels/families/render.hpp"
#include "kernels/problem/operand.hpp"
#include "tests/catch.hpp"
#include "tests/problem_of_text.hpp"

using namespace tilesmith;
using tests::problem_of_text;

TEST_CASE("scalars in device memory are read from a problem's text and written there, behind all other options",
    "[signature][scalars]") {
  for (const char* text : {"f16f32 NN 64 64 64 scalars=device", "s8s32 NT 64 64 64 beta=any scalars=device",
           "f64f64 TT 8 8 8 batch=3 batch_mode=strided scalars=device",
           "bf16f32bf16 NT 64 64 64 beta=any epilogue=bias_n+gelu batch=4 batch_mode=grouped scalars=device"}) {
    std::string error;
    const auto problem = parse_problem(text, error);
    INFO(text << ": " << error);
    REQUIRE(problem);
    CHECK(problem->scalars == Scalars::device);
    CHECK_FALSE(is_plain(*problem));
    const auto back = parse_problem(tilesmith::text(*problem), error);
    REQUIRE(back);
    CHECK(*back == *problem);
    const auto signature = parse_signature(tilesmith::text(problem->signature()), error);
    REQUIRE(signature);
    CHECK(*signature == problem->signature());
    CHECK(tilesmith::text(*problem).ends_with(" scalars=device"));
    CHECK(tilesmith::text(with_host_scalars(*problem)).find("scalars") == std::string::npos);
  }
  CHECK(text(problem_of_text("f16f32 NN 64 64 64 scalars=host")) == "f16f32 NN 64 64 64");
  CHECK(text(sister_of(problem_of_text("f16f32 NN 64 64 64 epilogue=relu scalars=device"))) == "f16f32 NN 64 64 64");
  for (const char* wrong : {"scalars=", "scalars=both", "scalars", "device_scalars"}) {
    std::string error;
    CHECK_FALSE(parse_problem(std::string("f16f32 NN 64 64 64 ") + wrong, error));
    INFO(error);
    CHECK(error.find("scalars= (device)") != std::string::npos);
  }
}

TEST_CASE(
    "scalars in device memory are operands of the scale type, β where it is not known to be 0", "[operand][scalars]") {
  const auto roles = [&](const char* text) {
    std::vector<OperandRole> found;
    for (const OperandMatrix& one : operands(problem_of_text(text))) found.push_back(one.role);
    return found;
  };
  using enum OperandRole;
  CHECK(roles("bf16f32bf16 NN 8 16 32 scalars=device") == std::vector{a, b, d, alpha});
  CHECK(roles("bf16f32bf16 NN 8 16 32 beta=any scalars=device") == std::vector{a, b, d, alpha, beta});
  CHECK(roles("bf16f32bf16 NN 8 16 32 beta=any") == std::vector{a, b, d});
  CHECK(operand(problem_of_text("bf16f32bf16 NN 8 16 32 scalars=device"), alpha).bytes() == 4);
  CHECK(operand(problem_of_text("f64f64 NN 8 16 32 scalars=device"), alpha).bytes() == 8);
  CHECK(operand(problem_of_text("s8s32 NN 8 16 32 scalars=device"), beta).element == Scalar::s32);
  CHECK(is_vector(alpha));
}

TEST_CASE(
    "every family has kernels that read scalars in device memory for what it computes, and no other kernel is changed",
    "[family][scalars]") {
  for (const char* arch : {"sm_87", "sm_90a"}) {
    for (const auto& family : families()) {
      if (family->needs_proof()) continue;  // a user's own, of other tests
      for (const char* text : {"f16f32 NN", "f32f32 NT", "s8s32 NT", "bf16f32bf16 NT epilogue=bias_n+relu",
               "bf16f32 NN batch_mode=strided", "f16f32 NT batch_mode=grouped"}) {
        std::string error;
        KernelTarget target{*parse_signature(text, error), *limits_for_arch(arch)};
        const bool supported = family->supports(target);
        KernelTarget device = target;
        device.scalars = Scalars::device;
        INFO(family->name() << " " << text << " on " << arch);
        CHECK(family->supports(device) == supported);
        if (!supported) continue;
        const std::vector<Config> initial_configs = family->initial_configs(target, ordinary_problem(target));
        if (initial_configs.empty()) continue;
        CHECK(family->initial_configs(device, ordinary_problem(device)) == initial_configs);
        const std::string source = family->source(initial_configs.front(), target),
                          of_device = family->source(initial_configs.front(), device);
        CHECK(source.find("constexpr bool kScalarsOnDevice = false;\n") != std::string::npos);
        CHECK(of_device.find("constexpr bool kScalarsOnDevice = true;\n") != std::string::npos);
        const std::string options = compiler_options_text(target);
        CHECK(kernel_hash(initial_configs.front(), target, options) !=
              kernel_hash(initial_configs.front(), device, options));
      }
    }
  }
}
