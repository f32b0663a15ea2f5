// Weights of several experts: repacked one behind the other.
#include "tests/runtime/repacked.hpp"

using namespace tilesmith;
using namespace tilesmith::repacked;

namespace {

template <typename T>
std::vector<T> experts_part(const std::vector<T>& all, int expert, int experts) {
  const std::size_t each = all.size() / std::size_t(experts);
  return {all.begin() + std::ptrdiff_t(each * std::size_t(expert)),
      all.begin() + std::ptrdiff_t(each * std::size_t(expert + 1))};
}

}  // namespace

TEST_CASE("weights of experts are what each one's would be alone, one behind the other") {
  const std::int64_t n = 40, k = 96, groups = 3;
  const int experts = 5;
  std::vector<std::int32_t> words, zeros;
  for (std::int64_t i = 0; i < experts * k * n / 8; ++i) words.push_back(std::int32_t(any(i, 1, 0x7fffffff)));
  for (std::int64_t i = 0; i < experts * groups * n / 8; ++i) zeros.push_back(std::int32_t(any(i, 2, 0x7fffffff)));
  const std::vector<float> scales = some_scales(experts * groups, n);
  struct Format {
    int format;
    const char* type;
    std::int64_t rows, columns;
    const char* of;
    bool zeros;
  };
  for (const Format& format : {Format{TILESMITH_WEIGHTS_NIBBLES, "s4", n, k / 2, "u4", false},
           {TILESMITH_WEIGHTS_GPTQ, "u4", k / 8, n, "s32", true},
           {TILESMITH_WEIGHTS_AWQ, "u4", k, n / 8, "s32", true}}) {
    const auto repacked = [&](int of, const std::vector<std::int32_t>& codes, const std::vector<float>& scale,
                              const std::vector<std::int32_t>& zero) {
      tilesmith_weights made = weights(format.type, n, k, 32, format.zeros, "f16");
      made.experts = of;
      tilesmith_weights_source from = source(format.format);
      from.codes = array(codes, format.rows * of, format.columns, format.of);
      from.scales = array(scale, groups * of, n, "f32");
      if (format.zeros) from.zeros = array(zero, groups * of, n / 8, "s32");
      return repack(made, from);
    };
    const Made all = repacked(experts, words, scales, zeros);
    INFO(format.type << " of format " << format.format << ": " << all.error);
    REQUIRE(all.status == TILESMITH_OK);
    for (int expert = 0; expert < experts; ++expert) {
      const Made one = repacked(1, experts_part(words, expert, experts), experts_part(scales, expert, experts),
          experts_part(zeros, expert, experts));
      REQUIRE(one.status == TILESMITH_OK);
      CHECK(experts_part(all.codes, expert, experts) == one.codes);
      CHECK(experts_part(all.scales, expert, experts) == one.scales);
      CHECK(experts_part(all.zeros, expert, experts) == one.zeros);
    }
  }
}

TEST_CASE("experts that do not share an array's rows are refused, and what one of them refuses refuses all") {
  const std::int64_t n = 16, k = 64;
  const std::vector<unsigned char> codes(std::size_t(3 * n * k));
  const std::vector<float> scales(std::size_t(3 * n), 1);
  tilesmith_weights of = weights("u4", n, k, 0);
  of.experts = 3;
  tilesmith_weights_source from = source(TILESMITH_WEIGHTS_BYTES);
  from.codes = array(codes, 3 * n - 1, k, "u8");
  from.scales = array(scales, 3, n, "f32");
  CHECK(repack(of, from).error == "codes has 47 rows: expected a multiple of 3, the experts");
  from.codes.rows = 3 * n;
  CHECK(repack(of, from).status == TILESMITH_OK);
  from.scales.rows = 6;
  CHECK(
      repack(of, from).error == "scales is 2x16: expected 1x16, one row for each group of columns of weights, or 16x1");
  tilesmith_weights_sizes sizes;
  of.experts = -1;
  CHECK(tilesmith_weights_bytes(&of, &sizes) == TILESMITH_BAD_ARGUMENT);
  CHECK(std::string(tilesmith_last_error()) == "experts is -1: expected 0 to 65536");

  // Zeros of the last expert that weights without zeros cannot have: nothing is repacked, of the others neither.
  std::vector<std::int32_t> words(std::size_t(3 * k / 8 * n)), zeros(std::size_t(3 * n / 8), 0x77777777);
  zeros.back() = 0x77777776;
  tilesmith_weights symmetric = weights("s4", n, k, 0);
  symmetric.experts = 3;
  tilesmith_weights_source gptq = source(TILESMITH_WEIGHTS_GPTQ);
  gptq.codes = array(words, 3 * k / 8, n, "s32");
  gptq.scales = array(scales, 3, n, "f32");
  gptq.zeros = array(zeros, 3, n / 8, "s32");
  const Made made = repack(symmetric, gptq);
  CHECK(made.error.find("expected 8 everywhere") != std::string::npos);
  CHECK(made.codes == std::vector<unsigned char>(made.codes.size()));
}
