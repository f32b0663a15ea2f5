// GGUF's Q4_K repacked in host memory, against a statement of its blocks that is made here.
#include <cmath>

#include "tests/runtime/repacked.hpp"

using namespace tilesmith::repacked;

namespace {

/// The fields of a block before they are packed.
struct Block {
  unsigned d, dmin;  // bits of f16
  unsigned scales[8], minima[8], codes[256];
};

Block some_block(std::int64_t row, std::int64_t number) {
  Block made{};
  made.d = 0x2400u + any(row, number, 0x1400) + (row % 3 == 1 ? 0x8000u : 0);
  made.dmin = any(number, row + 7, 0x3c00);  // subnormal ones, too
  for (unsigned g = 0; g < 8; ++g) {
    made.scales[g] = any(row * 8 + g, number, 64);
    made.minima[g] = any(row, number * 8 + g + 3, 64);
  }
  for (unsigned c = 0; c < 256; ++c) made.codes[c] = any(row, number * 256 + c, 16);
  return made;
}

/// The 144 bytes. Bits of scales and minima one by one, each where the format puts it.
void append(std::vector<unsigned char>& bytes, const Block& of) {
  for (const unsigned half : {of.d, of.dmin}) {
    bytes.push_back((unsigned char)half);
    bytes.push_back((unsigned char)(half >> 8));
  }
  unsigned char packed[12] = {};
  const auto put = [&](unsigned value, unsigned bit, unsigned byte, unsigned at) {
    packed[byte] = (unsigned char)(packed[byte] | (value >> bit & 1u) << at);
  };
  for (unsigned g = 0; g < 4; ++g) {
    for (unsigned bit = 0; bit < 6; ++bit) {
      put(of.scales[g], bit, g, bit);
      put(of.minima[g], bit, 4 + g, bit);
    }
    for (unsigned bit = 0; bit < 4; ++bit) {
      put(of.scales[4 + g], bit, 8 + g, bit);
      put(of.minima[4 + g], bit, 8 + g, 4 + bit);
    }
    for (unsigned bit = 4; bit < 6; ++bit) {
      put(of.scales[4 + g], bit, g, bit + 2);
      put(of.minima[4 + g], bit, 4 + g, bit + 2);
    }
  }
  bytes.insert(bytes.end(), packed, packed + 12);
  for (unsigned run = 0; run < 4; ++run) {
    for (unsigned j = 0; j < 32; ++j)
      bytes.push_back((unsigned char)(of.codes[64 * run + j] | of.codes[64 * run + 32 + j] << 4));
  }
}

float f16(unsigned bits) {
  const int exponent = int(bits >> 10 & 31), fraction = int(bits & 1023);
  const float magnitude =
      exponent == 0 ? std::ldexp(float(fraction), -24) : std::ldexp(float(1024 + fraction), exponent - 25);
  return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
}

tilesmith_weights_source blocks_of(const std::vector<unsigned char>& bytes, std::int64_t n) {
  tilesmith_weights_source from = source(TILESMITH_WEIGHTS_Q4_K);
  from.codes = array(bytes, n, n == 0 ? 0 : std::int64_t(bytes.size()) / n, "u8");
  return from;
}

}  // namespace

TEST_CASE("weights: blocks of Q4_K become codes, pairs of scales and pairs of factors, of one matrix and of experts") {
  const auto u16_at = [](const std::vector<unsigned char>& bytes, std::size_t pair) {
    return unsigned(bytes.at(2 * pair)) | unsigned(bytes.at(2 * pair + 1)) << 8;
  };
  for (const auto& [n, k, experts] :
      {std::array<std::int64_t, 3>{1, 256, 1}, {16, 512, 1}, {17, 768, 1}, {33, 1024, 1}, {5, 512, 3}, {0, 256, 1}}) {
    INFO(n << "x" << k << ", " << experts << " experts");
    std::vector<unsigned char> bytes, codes;
    for (std::int64_t row = 0; row < experts * n; ++row) {
      for (std::int64_t block = 0; block < k / 256; ++block) append(bytes, some_block(row, block));
    }
    for (std::int64_t expert = 0; expert < experts; ++expert) {
      const auto part = canonical(4, n, k, 0,
          [&](std::int64_t i, std::int64_t j) { return some_block(expert * n + i, j / 256).codes[j % 256]; });
      codes.insert(codes.end(), part.begin(), part.end());
    }
    tilesmith_weights of = weights("q4_k", n, k, 32, true, "f16");
    of.experts = std::int32_t(experts);
    tilesmith_weights_sizes sizes;
    REQUIRE(tilesmith_weights_bytes(&of, &sizes) == TILESMITH_OK);
    CHECK(sizes.scales == std::uint64_t(experts * n * k / 32 * 2));
    CHECK(sizes.zeros == std::uint64_t(experts * n * k / 256 * 4));
    if (n == 0) continue;
    tilesmith_weights_source from = blocks_of(bytes, experts * n);
    const Made made = repack(of, from);
    INFO(made.error);
    REQUIRE(made.status == TILESMITH_OK);
    CHECK(made.codes == codes);
    // Each weight is what the block's own formula makes, to the bit.
    std::int64_t wrong = 0;
    for (std::int64_t expert = 0; expert < experts; ++expert) {
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < k; ++j) {
          const Block block = some_block(expert * n + i, j / 256);
          const std::size_t g = std::size_t(j % 256 / 32);
          const float want = f16(block.d) * float(block.scales[g]) * float(block.codes[j % 256]) -
                             f16(block.dmin) * float(block.minima[g]);
          const unsigned pair = u16_at(made.scales, std::size_t((expert * (k / 32) + j / 32) * n + i));
          const std::size_t super = std::size_t((expert * (k / 256) + j / 256) * n + i) * 2;
          const float got = f16(u16_at(made.zeros, super)) * float(pair & 255) * float(block.codes[j % 256]) -
                            f16(u16_at(made.zeros, super + 1)) * float(pair >> 8);
          wrong += got == want ? 0 : 1;
        }
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("weights: blocks of Q4_K that are cut short, or whose factors are no numbers, are refused in one line") {
  const std::int64_t n = 3, k = 512;
  std::vector<unsigned char> bytes;
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t block = 0; block < k / 256; ++block) append(bytes, some_block(row, block));
  }
  const tilesmith_weights of = weights("q4_k", n, k, 32, true, "f16");
  tilesmith_weights_source from = blocks_of(bytes, n);
  const auto refused = [&](const tilesmith_weights& made, const tilesmith_weights_source& source) {
    return repack(made, source).error;
  };
  CHECK(refused(of, from).empty());
  from.codes.columns -= 1;
  CHECK(refused(of, from) == "codes is 3x287: expected 3x288");
  from = blocks_of(bytes, n);
  from.scales = array(bytes, 16, n, "f16");
  CHECK(refused(of, from) == "scales is given: expected none, they stand in the blocks");
  from = blocks_of(bytes, n);
  from.zeros = array(bytes, 16, n, "f16");
  CHECK(refused(of, from) == "zeros is given: expected none, they stand in the blocks");
  from = blocks_of(bytes, n);
  CHECK(refused(weights("s4", n, k, 32), from) == "type of weights is s4: expected q4_k of Q4_K");
  for (const auto& [format, types] : {std::pair{TILESMITH_WEIGHTS_BYTES, "s4, u4, s8, e4m3, e2m1 or nf4 of bytes"},
           {TILESMITH_WEIGHTS_NIBBLES, "s4, u4, e2m1 or nf4 of nibbles"}, {TILESMITH_WEIGHTS_Q4_0, "s4 of Q4_0"},
           {TILESMITH_WEIGHTS_GPTQ, "u4, s4 or s8 of GPTQ"}, {TILESMITH_WEIGHTS_MXFP4, "e2m1 or e4m3 of MXFP4"}}) {
    from.format = format;
    CHECK(refused(of, from) == std::string("type of weights is q4_k: expected ") + types);
  }
  tilesmith_weights wrong = of;
  wrong.a_bits = 8;
  tilesmith_weights_sizes sizes;
  CHECK(tilesmith_weights_bytes(&wrong, &sizes) == TILESMITH_BAD_ARGUMENT);
  CHECK(tilesmith_last_error() == std::string("a_bits is 8 and type of weights q4_k: expected s4, u4 or e2m1"));
  for (const auto& [place, bits, line] : {std::tuple{3 * 144, 0x7c00u, "d inf and dmin "},
           {3 * 144 + 2, 0x7e01u, "and dmin nan: expected finite numbers; nothing was repacked"}}) {
    std::vector<unsigned char> bad = bytes;
    bad[std::size_t(place)] = (unsigned char)bits, bad[std::size_t(place) + 1] = (unsigned char)(bits >> 8);
    from = blocks_of(bad, n);
    const std::string why = refused(of, from);
    INFO(why);
    CHECK(why.find("block 1 of row 1 has d ") == 0);
    CHECK(why.find(line) != std::string::npos);
  }
}
