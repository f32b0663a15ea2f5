#include "kernels/render.hpp"
#include "kernels/type_pair.hpp"
#include "tests/catch.hpp"

using namespace tilesmith;

TEST_CASE("each option of a signature is a macro of the source, so that kernels of two signatures differ", "[render]") {
  CHECK(signature_macros(" epilogue=relu batch_mode=strided") == "#define TILESMITH_EPILOGUE_RELU\n#define TILESMITH_BATCH_MODE_STRIDED\n");
  CHECK(signature_macros("").empty());
}

TEST_CASE("a plain signature adds no macro, so that its kernels stay what they are", "[render]") {
  const KernelTarget target{{*find_type_pair("f16f32"), {}}, *limits_for_arch("sm_90a")};
  const auto config = generic_config(target);
  CHECK(render_source(config, target, "kernels/simt/simt.cu").find("#define") == std::string::npos);
}
