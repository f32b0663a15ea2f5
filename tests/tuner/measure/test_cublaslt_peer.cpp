// What cuBLASLt is asked for, without it.
#include "tests/catch.hpp"
#include "tuner/measure/cublaslt_peer.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

TEST_CASE("cuBLASLt is timed beside scales of blocks that it has") {
  const auto computes = [](const char* text) {
    std::string error;
    const auto signature = parse_signature(text, error);
    INFO(text << ": " << error);
    REQUIRE(signature);
    return CublasLtPeer::computes(*signature);
  };
  CHECK(computes("e4m3f32bf16 NT epilogue=scale_m_1x128+scale_n_128x128"));
  CHECK(computes("e4m3f32f16 NT epilogue=scale_m_128x128+scale_n_1x128+bias_n"));
  CHECK(computes("e4m3f32 NT epilogue=scale_m_1x128+scale_n_1x128"));
  CHECK_FALSE(computes("e4m3f32bf16 NT epilogue=scale_m_128x128+scale_n_128x128"));
  CHECK_FALSE(computes("e4m3f32bf16 NN epilogue=scale_m_1x128+scale_n_128x128"));
  CHECK_FALSE(computes("e4m3f32bf16 NT epilogue=scale_m_1x128+scale_n_128x128 batch_mode=strided"));
  CHECK_FALSE(computes("e4m3f32bf16 NT epilogue=scale_m_1x128+scale_n_128x128 batch_mode=grouped"));
  CHECK(computes("e4m3f32bf16 NT epilogue=scale_m+scale_n"));
  CHECK_FALSE(computes("e4m3f32bf16 NT epilogue=scale_m+scale_n1"));
}
