// GGUF's Q6_K repacked in host memory, against a statement of its blocks that is made here.
#include <array>
#include <cmath>

#include "tests/runtime/repacked.hpp"

using namespace tilesmith::repacked;

namespace {

constexpr std::size_t kBlockBytes = 210;

unsigned code_of(std::int64_t row, std::int64_t column) { return any(row, column, 64); }
int scale_of(std::int64_t row, std::int64_t group) { return int(any(row * 8 + 5, group, 256)) - 128; }
unsigned d_of(std::int64_t row, std::int64_t block) {
  return any(row, block + 3, 0x3c00) + (row % 3 == 1 ? 0x8000u : 0);  // subnormal ones, too
}

/// A row's blocks: each column's bits by the words of ggml, which walks through halves of 128 columns by 32.
std::vector<unsigned char> blocks_of_row(std::int64_t row, std::int64_t k) {
  std::vector<unsigned char> bytes(std::size_t(k / 256) * kBlockBytes);
  for (std::int64_t block = 0; block < k / 256; ++block) {
    unsigned char *const ql = bytes.data() + std::size_t(block) * kBlockBytes, *const qh = ql + 128;
    for (std::int64_t column = 0; column < 256; ++column) {
      const std::int64_t half = column / 128, l = column % 32;
      const unsigned code = code_of(row, block * 256 + column);
      switch (column % 128 / 32) {
        case 0: ql[64 * half + l] |= (unsigned char)(code & 15); break;
        case 1: ql[64 * half + l + 32] |= (unsigned char)(code & 15); break;
        case 2: ql[64 * half + l] |= (unsigned char)((code & 15) << 4); break;
        default: ql[64 * half + l + 32] |= (unsigned char)((code & 15) << 4);
      }
      qh[32 * half + l] |= (unsigned char)((code >> 4) << 2 * (column % 128 / 32));
    }
    for (std::int64_t group = 0; group < 16; ++group)
      ql[192 + group] = (unsigned char)scale_of(row, block * 16 + group);
    ql[208] = (unsigned char)d_of(row, block), ql[209] = (unsigned char)(d_of(row, block) >> 8);
  }
  return bytes;
}

/// By the header's words: blocks of the lower four bits, each followed by the upper two in the order of its lanes.
std::vector<unsigned char> six_bits(std::int64_t n, std::int64_t k, std::int64_t first_row) {
  const auto code = [&](std::int64_t row, std::int64_t column) {
    return row < n ? code_of(first_row + row, column) : 32u;
  };
  const auto lower =
      canonical(4, n, k, 0, [&](std::int64_t row, std::int64_t column) { return code(row, column) & 15; });
  std::vector<unsigned char> bytes;
  for (std::int64_t block = 0; block < std::int64_t(lower.size()) / 512; ++block) {
    bytes.insert(bytes.end(), lower.begin() + block * 512, lower.begin() + (block + 1) * 512);
    for (int lane = 0; lane < 32; ++lane) {
      std::array<std::uint32_t, 2> words{};
      for (int step = 0; step < 4; ++step) {
        for (int i = 0; i < 4; ++i) {
          for (int hi = 0; hi < 2; ++hi) {
            const std::int64_t row = block / (k / 64) * 16 + lane / 4 + (i % 2 == 1 ? 8 : 0),
                               column = block % (k / 64) * 64 + step * 16 + lane % 4 * 2 + hi + (i >= 2 ? 8 : 0);
            const int bit = 8 * (step % 2) + 4 * (i % 2) + 2 * (i / 2) + 16 * hi;
            words[std::size_t(step / 2)] |= std::uint32_t(code(row, column) >> 4) << bit;
          }
        }
      }
      for (int b = 0; b < 8; ++b) bytes.push_back((unsigned char)(words[std::size_t(b / 4)] >> 8 * (b % 4)));
    }
  }
  return bytes;
}

std::vector<unsigned char> blocks_of(std::int64_t rows, std::int64_t k) {
  std::vector<unsigned char> bytes;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto of_row = blocks_of_row(row, k);
    bytes.insert(bytes.end(), of_row.begin(), of_row.end());
  }
  return bytes;
}

tilesmith_weights_source source_of(const std::vector<unsigned char>& bytes, std::int64_t n, std::int64_t k) {
  tilesmith_weights_source from = source(TILESMITH_WEIGHTS_Q6_K);
  from.codes = array(bytes, n, k / 256 * std::int64_t(kBlockBytes), "u8");
  return from;
}

}  // namespace

TEST_CASE(
    "weights: blocks of Q6_K become codes in two parts, scales by four, and factors, of one matrix and of experts") {
  for (const auto& [n, k, experts] :
      {std::array<std::int64_t, 3>{1, 256, 1}, {16, 512, 1}, {17, 768, 1}, {33, 1024, 1}, {5, 512, 3}}) {
    INFO(n << "x" << k << ", " << experts << " experts");
    const std::vector<unsigned char> bytes = blocks_of(experts * n, k);
    std::vector<unsigned char> codes, scales, factors;
    for (std::int64_t expert = 0; expert < experts; ++expert) {
      const auto part = six_bits(n, k, expert * n);
      codes.insert(codes.end(), part.begin(), part.end());
      for (std::int64_t four = 0; four < k / 64; ++four) {
        for (std::int64_t i = 0; i < 4 * n; ++i)
          scales.push_back((unsigned char)scale_of(expert * n + i / 4, four * 4 + i % 4));
      }
      for (std::int64_t i = 0; i < k / 256 * n; ++i) {
        const unsigned d = d_of(expert * n + i % n, i / n);
        factors.push_back((unsigned char)d), factors.push_back((unsigned char)(d >> 8));
      }
    }
    tilesmith_weights of = weights("q6_k", n, k, 16, true, "f16");
    of.experts = std::int32_t(experts);
    const Made made = repack(of, source_of(bytes, experts * n, k));
    INFO(made.error);
    REQUIRE(made.status == TILESMITH_OK);
    CHECK(made.codes == codes);
    CHECK(made.scales == scales);
    CHECK(made.zeros == factors);
  }
}

TEST_CASE("weights: blocks of Q6_K that are cut short, or whose factors are no numbers, are refused in one line") {
  const std::int64_t n = 3, k = 512;
  std::vector<unsigned char> bytes = blocks_of(n, k);
  const tilesmith_weights of = weights("q6_k", n, k, 16, true, "f16");
  tilesmith_weights_source from = source_of(bytes, n, k);
  CHECK(repack(of, from).error.empty());
  from.codes.columns -= 1;
  CHECK(repack(of, from).error == "codes is 3x419: expected 3x420");
  from = source_of(bytes, n, k);
  from.scales = array(bytes, 16, n, "f16");
  CHECK(repack(of, from).error == "scales is given: expected none, they stand in the blocks");
  from = source_of(bytes, n, k);
  CHECK(repack(weights("q4_k", n, k, 32, true, "f16"), from).error == "type of weights is q4_k: expected q6_k of Q6_K");
  from.format = TILESMITH_WEIGHTS_Q4_K;
  CHECK(repack(of, from).error == "type of weights is q6_k: expected q4_k of Q4_K");
  from.format = TILESMITH_WEIGHTS_BYTES;
  CHECK(repack(of, from).error == "type of weights is q6_k: expected s4, u4, s8, e4m3, e2m1 or nf4 of bytes");
  for (const auto& [bits, says] : {std::pair{0x7c00u, "inf"}, {0xfc00u, "-inf"}, {0x7e01u, "nan"}}) {
    std::vector<unsigned char> bad = bytes;
    bad[3 * kBlockBytes + 208] = (unsigned char)bits, bad[3 * kBlockBytes + 209] = (unsigned char)(bits >> 8);
    CHECK(repack(of, source_of(bad, n, k)).error ==
          std::string("block 1 of row 1 has d ") + says + ": expected finite numbers; nothing was repacked");
  }
}
