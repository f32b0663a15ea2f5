// What tilesmith_weights.h makes of weights of 4 bits for an A of 8 bits, in host memory.
#include <cmath>

#include "tests/runtime/repacked.hpp"

using namespace tilesmith::repacked;

TEST_CASE("weights: codes for an A of 8 bits are in their own documented layout, of every format and of experts") {
  for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {16, 64}, {17, 65}, {40, 200}, {33, 31}}) {
    for (const auto& [type, padding] : {std::pair{"s4", 8}, {"u4", 0}, {"e2m1", 0}}) {
      INFO(n << "x" << k << " " << type);
      std::vector<unsigned char> bytes, nibbles(std::size_t(2 * n * ((k + 1) / 2)));
      for (std::int64_t i = 0; i < 2 * n; ++i) {  // of two experts
        for (std::int64_t j = 0; j < k; ++j) {
          const std::size_t at = std::size_t(i * ((k + 1) / 2) + j / 2);
          bytes.push_back((unsigned char)any(i, j, 16));
          nibbles[at] = (unsigned char)(nibbles[at] | any(i, j, 16) << (j % 2 * 4));
        }
      }
      const std::vector<float> scales = some_scales(2, n);
      std::vector<unsigned char> want;
      for (int expert = 0; expert < 2; ++expert) {
        const auto part =
            canonical8(n, k, padding, [&](std::int64_t i, std::int64_t j) { return any(expert * n + i, j, 16); });
        want.insert(want.end(), part.begin(), part.end());
      }
      tilesmith_weights of = weights(type, n, k, 0);
      of.experts = 2, of.a_bits = 8;
      tilesmith_weights_source from = source(TILESMITH_WEIGHTS_BYTES);
      from.codes = array(bytes, 2 * n, k, "u8");
      from.scales = array(scales, 2, n, "f32");
      Made made = repack(of, from);
      INFO(made.error);
      CHECK(made.codes == want);
      CHECK(std::memcmp(made.scales.data(), scales.data(), made.scales.size()) == 0);
      from.format = TILESMITH_WEIGHTS_NIBBLES;
      from.codes = array(nibbles, 2 * n, (k + 1) / 2, "u4");
      CHECK(repack(of, from).codes == want);
    }
  }
}

TEST_CASE("weights: for an A of 8 bits zeros have codes, and other types than those of 4 bits are refused") {
  const std::int64_t n = 3, k = 64;
  const std::vector<unsigned char> codes(std::size_t(n * k));
  const std::vector<float> scales = some_scales(2, n);
  tilesmith_weights_source from = source(TILESMITH_WEIGHTS_BYTES);
  from.codes = array(codes, n, k, "u8");
  from.scales = array(scales, 2, n, "f32");
  for (const auto& [type, low] : {std::pair{"s4", -8.0F}, {"u4", 0.0F}}) {
    tilesmith_weights of = weights(type, n, k, 32, true);
    of.a_bits = 8;
    std::vector<float> zeros(6, low);
    zeros[5] = low + 15;
    from.zeros = array(zeros, 2, n, "f32");
    const Made made = repack(of, from);
    INFO(type << " " << made.error);
    REQUIRE(made.status == TILESMITH_OK);
    CHECK(f32_at(made.zeros, 5) == low + 15);
    const std::string expected = type == std::string("s4") ? "-8 to 7" : "0 to 15";
    for (const auto& [zero, text] : {std::pair{low - 1, low < 0 ? "-9" : "-1"}, {low + 16, low < 0 ? "8" : "16"},
             {0.5F, "0.5"}, {std::nanf(""), "nan"}, {1e30F, "1e+30"}}) {
      zeros[4] = zero;
      const std::string line =
          std::string(text) + ": expected whole numbers from " + expected + " with a_bits 8; nothing was repacked";
      from.zeros = array(zeros, 2, n, "f32");
      from.scales = array(scales, 2, n, "f32");
      CHECK(repack(of, from).error == "zeros[1][1] is " + line);
      from.zeros = array(zeros, n, 2, "f32");
      from.scales = array(scales, n, 2, "f32");
      CHECK(repack(of, from).error == "zeros[2][0] is " + line);
      from.scales = array(scales, 2, n, "f32");
    }
    from.zeros = array(zeros, 2, n, "f32");
    of.a_bits = 16;
    CHECK(repack(of, from).status == TILESMITH_OK);
  }
  const std::vector<std::int8_t> bytes{-8, 7, 0, 1, 8, 2};
  from.zeros = array(bytes, 2, n, "s8");
  tilesmith_weights of = weights("s4", n, k, 32, true);
  of.a_bits = 8;
  CHECK(repack(of, from).error ==
        "zeros[1][1] is 8: expected whole numbers from -8 to 7 with a_bits 8; nothing was repacked");

  const auto refused = [&](const char* type, int a_bits, const std::string& line) {
    tilesmith_weights wrong = weights(type, n, k, 32);
    wrong.a_bits = a_bits;
    tilesmith_weights_sizes sizes;
    CHECK(tilesmith_weights_bytes(&wrong, &sizes) == TILESMITH_BAD_ARGUMENT);
    CHECK(tilesmith_last_error() == line);
    CHECK(sizes.codes == 0);
    unsigned char to[16];
    CHECK(tilesmith_weights_repack(nullptr, nullptr, &wrong, &from, to, to, nullptr) == TILESMITH_BAD_ARGUMENT);
    CHECK(tilesmith_last_error() == line);
  };
  for (const char* type : {"s8", "e4m3", "nf4"})
    refused(type, 8, std::string("a_bits is 8 and type of weights ") + type + ": expected s4, u4 or e2m1");
  for (const int a_bits : {-8, 1, 4, 32})
    refused("s4", a_bits, "a_bits is " + std::to_string(a_bits) + ": expected 8, 16, or 0 for 16");
}
