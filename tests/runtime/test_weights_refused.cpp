// What tilesmith_weights.h refuses, and whether its kernels compile.
#include <limits>

#include "runtime/compile/compiler.hpp"
#include "runtime/interface/weights_source.hpp"
#include "tests/runtime/repacked.hpp"

using namespace tilesmith;
using namespace tilesmith::repacked;

TEST_CASE("weights: what does not fit is refused in one line that says what was expected") {
  const std::int64_t n = 16, k = 64;
  const std::vector<unsigned char> codes(std::size_t(n * k));
  const std::vector<float> scales(std::size_t(n * 2), 1);
  tilesmith_weights_source right = source(TILESMITH_WEIGHTS_BYTES);
  right.codes = array(codes, n, k, "u8");
  right.scales = array(scales, 2, n, "f32");
  REQUIRE(repack(weights("u4", n, k, 32), right).status == TILESMITH_OK);
  const auto refused = [&](const std::function<void(tilesmith_weights_source&)>& edit, const std::string& line,
                           const char* type = "u4", bool zeros = false) {
    tilesmith_weights_source from = right;
    edit(from);
    const Made made = repack(weights(type, n, k, 32, zeros), from);
    CHECK(made.status == TILESMITH_BAD_ARGUMENT);
    CHECK(made.error == line);
    CHECK(made.codes == std::vector<unsigned char>(made.codes.size()));
  };
  refused([&](auto& from) { from.scales.rows = 1; },
      "scales is 1x16: expected 2x16, one row for each group of columns of weights, or 16x2");
  refused([&](auto& from) { from.scales.data = nullptr; }, "scales is null: expected 2x16 of f16, bf16 or f32");
  refused([&](auto& from) { std::strcpy(from.scales.type, "s8"); }, "scales is of s8: expected f16, bf16 or f32");
  refused([&](auto& from) { from.codes.columns = 63; }, "codes is 16x63: expected 16x64");
  refused([&](auto& from) { from.codes.data = nullptr; }, "codes is null: expected 16x64 of u8");
  refused([&](auto& from) { from.zeros = from.scales; }, "zeros is given: expected none, the weights have none");
  refused([&](auto&) {}, "zeros is null: expected 2x16, as scales", "u4", true);
  refused([&](auto& from) { from.format = 11; }, "format is 11: expected a tilesmith_weights_format");
  refused([&](auto& from) { from.format = TILESMITH_WEIGHTS_AWQ; }, "type of weights is s8: expected u4 of AWQ", "s8");
  refused([&](auto& from) { from.format = TILESMITH_WEIGHTS_AWQ; },
      "weights of AWQ as u4 have no zeros: expected has_zeros, or s4");
  refused(
      [&](auto& from) {
        from.format = TILESMITH_WEIGHTS_GPTQ;
        from.codes.rows = 8, from.codes.columns = 16;
      },
      "codes is of u8: expected s32", "s4");
  refused([&](auto& from) { from.g_idx = from.codes; }, "g_idx is given: expected none, it is of GPTQ");

  const auto no_weights = [](const char* type, std::int64_t of_k, std::int64_t group, const char* scale,
                              const std::string& line) {
    tilesmith_weights made;
    CHECK(tilesmith_weights_init(&made, type, 16, of_k, group, scale, 0) == TILESMITH_BAD_ARGUMENT);
    CHECK(tilesmith_last_error() == line);
    CHECK(made.size == 0);
  };
  no_weights("s5", 64, 32, "f16", "type of weights is 's5': expected s4, u4, s8, e4m3, e2m1, nf4, q4_k or q6_k");
  no_weights("s4", 64, 48, "f16", "group is 48: expected 32, 64, 128, or 0 for the whole row of weights");
  no_weights("s4", 96, 64, "f16", "group is 64: expected one that divides k, 96, or 0 for the whole row of weights");
  no_weights("s4", 64, 32, "f64", "scale_type is 'f64': expected f16, bf16 or f32");
  no_weights("fp4", 64, 32, "f16", "type of weights is 'fp4': expected s4, u4, s8, e4m3, e2m1, nf4, q4_k or q6_k");
  no_weights("q6_k", 320, 32, "f16", "k is 320: expected a multiple of 256 of q6_k");
  no_weights("q6_k", 256, 32, "f16", "group is 32, scale_type f16 and has_zeros 0: expected 16, f16 and 1 of q6_k");
  no_weights("s4", 256, 16, "f16", "group is 16: expected 32, 64, 128, or 0 for the whole row of weights");
  no_weights("q4_k", 320, 32, "f16", "k is 320: expected a multiple of 256 of q4_k");
  no_weights("q4_k", 256, 64, "f16", "group is 64, scale_type f16 and has_zeros 0: expected 32, f16 and 1 of q4_k");
  no_weights("q4_k", 256, 32, "f32", "group is 32, scale_type f32 and has_zeros 0: expected 32, f16 and 1 of q4_k");
  CHECK(
      tilesmith_weights_repack(nullptr, nullptr, nullptr, &right, nullptr, nullptr, nullptr) == TILESMITH_BAD_ARGUMENT);
}

TEST_CASE(
    "weights: a scale that would become infinite in f16 is refused, where it stands; one that was infinite stays") {
  const std::int64_t n = 16, k = 64;
  const std::vector<unsigned char> codes(std::size_t(n * k));
  std::vector<float> scales(std::size_t(n * 2), -65504);
  scales[21] = std::numeric_limits<float>::infinity();
  tilesmith_weights_source from = source(TILESMITH_WEIGHTS_BYTES);
  from.codes = array(codes, n, k, "u8");
  const auto made = [&](std::int64_t rows, std::int64_t columns, const char* scale_type) {
    from.scales = array(scales, rows, columns, "f32");
    return repack(weights("u4", n, k, 32, false, scale_type), from);
  };
  CHECK(made(2, n, "f16").status == TILESMITH_OK);
  scales[19] = 65520;
  CHECK(
      made(2, n, "f16").error ==
      "scales[1][3] is 65520: expected at most 65504, which scale_type f16 holds, or scale_type bf16 or f32; nothing was repacked");
  CHECK(
      made(n, 2, "f16").error ==
      "scales[9][1] is 65520: expected at most 65504, which scale_type f16 holds, or scale_type bf16 or f32; nothing was repacked");
  CHECK(made(2, n, "bf16").status == TILESMITH_OK);
  CHECK(made(2, n, "f32").status == TILESMITH_OK);
}

TEST_CASE("weights: the kernels that repack compile for Ampere and Hopper without spills") {
  if (const std::string why = runtime::nvrtc_unavailable_because(); !why.empty()) {
    WARN("not compiled: " << why);
    return;
  }
  for (const char* arch : {"sm_87", "sm_90a"}) {
    const runtime::SourceBuild built = runtime::compile_source(runtime::repack_source(), "repack.cu", "all of them",
        {std::string("--gpu-architecture=") + arch, "--std=c++17", "--device-as-default-execution-space"});
    INFO(arch << ": " << built.log);
    CHECK(built.ok);
    CHECK(built.spill_bytes == 0);
    CHECK(built.registers > 0);
  }
}
