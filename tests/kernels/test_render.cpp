#include "kernels/families/render.hpp"

#include <set>

#include "kernels/problem/type_pair.hpp"
#include "tests/catch.hpp"

using namespace tilesmith;

TEST_CASE("what a signature asks for besides the product is in the source, so that kernels of two signatures differ",
    "[render]") {
  KernelTarget target{{*find_type_pair("f16f32"), {}}, *limits_for_arch("sm_90a")};
  const auto config = generic_config(target);
  std::set<std::string> sources;
  const auto add = [&] { return sources.insert(render_source(config, target, "kernels/simt/simt.cu")).second; };
  CHECK(add());
  for (const ActivationRow& row : kActivations) {
    INFO(row.name);
    target.epilogue.activation = row.value;
    CHECK(add() == (row.value != Activation::identity));
  }
  for (const char* epilogue :
      {"c_apart", "bias_n", "bias_m", "bias_n+silu", "scale_m", "scale_m1", "scale_n", "scale_n1", "scale_m+scale_n"}) {
    INFO(epilogue);
    target.epilogue = *parse_epilogue(epilogue);
    CHECK(add());
  }
  target.type = *find_type_pair("bf16f32bf16");
  for (const char* epilogue : {"bias_n", "bias_n_f32"}) {
    INFO(epilogue);
    target.epilogue = *parse_epilogue(epilogue);
    CHECK(add());
  }
}

TEST_CASE("a plain signature adds no macro, so that its kernels stay what they are", "[render]") {
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, *limits_for_arch("sm_90a")};
  const auto config = generic_config(target);
  CHECK(render_source(config, target, "kernels/simt/simt.cu").find("#define") == std::string::npos);
}
