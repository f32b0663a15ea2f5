// What tilesmith_weights.h makes of others' weights, in host memory, by the same code as the device's.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "runtime/compile/compiler.hpp"
#include "runtime/interface/repack_kernels.hpp"
#include "runtime/interface/tilesmith_weights.h"
#include "tests/catch.hpp"

using namespace tilesmith;

namespace {

struct Made {
  std::vector<unsigned char> codes, zeros, scales;
  tilesmith_status status = TILESMITH_OK;
  std::string error;
};

tilesmith_weights weights(const char* type, std::int64_t n, std::int64_t k, std::int64_t group, bool zeros = false, const char* scale = "f32") {
  tilesmith_weights made;
  REQUIRE(tilesmith_weights_init(&made, type, n, k, group, scale, zeros) == TILESMITH_OK);
  return made;
}

tilesmith_weights_source source(int format) {
  tilesmith_weights_source from;
  REQUIRE(tilesmith_weights_source_init(&from, format) == TILESMITH_OK);
  from.on_host = 1;
  return from;
}

template <typename T>
tilesmith_array array(const std::vector<T>& data, std::int64_t rows, std::int64_t columns, const char* type) {
  tilesmith_array made{data.data(), rows, columns, {}};
  std::strcpy(made.type, type);
  return made;
}

Made repack(const tilesmith_weights& of, const tilesmith_weights_source& from) {
  tilesmith_weights_sizes sizes;
  REQUIRE(tilesmith_weights_bytes(&of, &sizes) == TILESMITH_OK);
  Made made;
  made.codes.resize(sizes.codes);
  made.scales.resize(sizes.scales);
  made.zeros.resize(sizes.zeros);
  made.status = tilesmith_weights_repack(nullptr, nullptr, &of, &from, made.codes.data(), made.scales.data(), sizes.zeros != 0 ? made.zeros.data() : nullptr);
  made.error = made.status == TILESMITH_OK ? "" : tilesmith_last_error();
  return made;
}

float f32_at(const std::vector<unsigned char>& values, std::size_t index) {
  float value;
  std::memcpy(&value, values.data() + 4 * index, 4);
  return value;
}

/// By the header's words: each lane's fragments in turn. `code`: of a row and column that there are.
std::vector<unsigned char> canonical(int bits, std::int64_t n, std::int64_t k, int padding, const std::function<unsigned(std::int64_t, std::int64_t)>& code) {
  const std::int64_t columns = bits == 4 ? 64 : 32, across = (k + columns - 1) / columns;
  std::vector<unsigned char> bytes(std::size_t(512 * ((n + 15) / 16) * across));
  for (std::size_t block = 0; block < bytes.size() / 512; ++block) {
    const std::int64_t row0 = std::int64_t(block) / across * 16, column0 = std::int64_t(block) % across * columns;
    for (int lane = 0; lane < 32; ++lane) {
      unsigned char* const of_lane = bytes.data() + block * 512 + std::size_t(lane) * 16;
      const int g = lane / 4, t = lane % 4;
      for (int step = 0; step < columns / 16; ++step) {
        const auto value = [&](int i, int hi) {
          const std::int64_t row = row0 + g + (i % 2 == 1 ? 8 : 0), column = column0 + step * 16 + 2 * t + hi + (i >= 2 ? 8 : 0);
          return row < n && column < k ? code(row, column) : unsigned(padding);
        };
        if (bits == 4) {
          std::uint32_t word = 0;
          for (int i = 0; i < 4; ++i) word |= value(i, 0) << (4 * i) | value(i, 1) << (4 * (i + 4));
          for (int b = 0; b < 4; ++b) of_lane[4 * step + b] = (unsigned char)(word >> (8 * b));
        } else {
          for (int i = 0; i < 4; ++i) {
            of_lane[8 * step + 2 * i] = (unsigned char)value(i, 0);
            of_lane[8 * step + 2 * i + 1] = (unsigned char)value(i, 1);
          }
        }
      }
    }
  }
  return bytes;
}

unsigned any(std::int64_t i, std::int64_t j, unsigned below) { return unsigned((std::uint64_t(i) * 2654435761u + std::uint64_t(j) * 40503u + 12345u) >> 7) % below; }

std::vector<float> some_scales(std::int64_t groups, std::int64_t n) {
  std::vector<float> made;
  for (std::int64_t i = 0; i < groups * n; ++i) made.push_back(float(i) / 64 - 1);
  return made;
}

}  // namespace

TEST_CASE("weights: codes one a byte and in nibbles become the documented layout, padded by the code of 0") {
  for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {16, 64}, {17, 65}, {40, 200}, {33, 31}}) {
    INFO(n << "x" << k);
    const std::vector<float> scales = some_scales(1, n);
    const auto code4 = [](std::int64_t i, std::int64_t j) { return any(i, j, 16); };
    const auto code8 = [](std::int64_t i, std::int64_t j) { return any(i, j, 256); };
    std::vector<unsigned char> bytes4, signed4, nibbles(std::size_t(n * ((k + 1) / 2))), signed_nibbles(nibbles.size()), bytes8, signed8;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < k; ++j) {
        const std::size_t at = std::size_t(i * ((k + 1) / 2) + j / 2);
        bytes4.push_back((unsigned char)code4(i, j));
        signed4.push_back((unsigned char)(int(code4(i, j)) - 8));
        nibbles[at] = (unsigned char)(nibbles[at] | code4(i, j) << (j % 2 * 4));
        signed_nibbles[at] = (unsigned char)(signed_nibbles[at] | ((code4(i, j) - 8) & 15) << (j % 2 * 4));
        bytes8.push_back((unsigned char)code8(i, j));
        signed8.push_back((unsigned char)(int(code8(i, j)) - 128));
      }
    }
    const auto check = [&](const char* type, int format, const tilesmith_array& codes, const std::vector<unsigned char>& want) {
      tilesmith_weights_source from = source(format);
      from.codes = codes;
      from.scales = array(scales, 1, n, "f32");
      const Made made = repack(weights(type, n, k, 0), from);
      INFO(type << " " << codes.type << " " << made.error);
      REQUIRE(made.status == TILESMITH_OK);
      CHECK(made.codes == want);
      CHECK(std::memcmp(made.scales.data(), scales.data(), made.scales.size()) == 0);
    };
    const std::vector<unsigned char> s4 = canonical(4, n, k, 8, code4), u4 = canonical(4, n, k, 0, code4), s8 = canonical(8, n, k, 128, code8), raw = canonical(8, n, k, 0, code8);
    check("u4", TILESMITH_WEIGHTS_BYTES, array(bytes4, n, k, "u8"), u4);
    check("s4", TILESMITH_WEIGHTS_BYTES, array(bytes4, n, k, "u8"), s4);
    check("s4", TILESMITH_WEIGHTS_BYTES, array(signed4, n, k, "s8"), s4);
    check("u4", TILESMITH_WEIGHTS_NIBBLES, array(nibbles, n, (k + 1) / 2, "u4"), u4);
    check("s4", TILESMITH_WEIGHTS_NIBBLES, array(signed_nibbles, n, (k + 1) / 2, "s4"), s4);
    check("s8", TILESMITH_WEIGHTS_BYTES, array(signed8, n, k, "s8"), s8);
    check("s8", TILESMITH_WEIGHTS_BYTES, array(bytes8, n, k, "u8"), s8);
    check("e4m3", TILESMITH_WEIGHTS_BYTES, array(bytes8, n, k, "e4m3"), raw);
  }
}

TEST_CASE("weights: GPTQ's words are unpacked along K, its zeros along N, 1 higher than they are stored in the first version") {
  const std::int64_t n = 24, k = 128, groups = 4;
  const auto code = [](std::int64_t i, std::int64_t j) { return any(i, j, 16); };
  std::vector<std::int32_t> qweight(std::size_t(k / 8 * n)), qzeros(std::size_t(groups * n / 8)), sevens(qzeros.size(), 0x77777777), g_idx;
  for (std::int64_t j = 0; j < k; ++j) {
    g_idx.push_back(std::int32_t(j / 32));
    for (std::int64_t i = 0; i < n; ++i) qweight[std::size_t(j / 8 * n + i)] |= std::int32_t(code(i, j) << (j % 8 * 4));
  }
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t i = 0; i < n; ++i) qzeros[std::size_t(g * n / 8 + i / 8)] |= std::int32_t(any(g, i, 15) << (i % 8 * 4));
  }
  const std::vector<float> scales = some_scales(groups, n);
  tilesmith_weights_source from = source(TILESMITH_WEIGHTS_GPTQ);
  from.codes = array(qweight, k / 8, n, "s32");
  from.zeros = array(qzeros, groups, n / 8, "s32");
  from.scales = array(scales, groups, n, "f32");
  from.g_idx = array(g_idx, 1, k, "s32");
  for (const int format : {TILESMITH_WEIGHTS_GPTQ, TILESMITH_WEIGHTS_GPTQ_V2}) {
    from.format = format;
    const Made made = repack(weights("u4", n, k, 32, true), from);
    INFO(made.error);
    REQUIRE(made.status == TILESMITH_OK);
    CHECK(made.codes == canonical(4, n, k, 0, code));
    CHECK(std::memcmp(made.scales.data(), scales.data(), made.scales.size()) == 0);
    for (std::int64_t at = 0; at < groups * n; ++at) {
      const float zero = f32_at(made.zeros, std::size_t(at));
      REQUIRE(zero == float(any(at / n, at % n, 15)) + (format == TILESMITH_WEIGHTS_GPTQ ? 1 : 0));
    }
  }
  // Symmetric: all zeros are 8, stored as 7.
  from.format = TILESMITH_WEIGHTS_GPTQ;
  CHECK(repack(weights("s4", n, k, 32), from).error.find("expected 8 everywhere") != std::string::npos);
  from.zeros = array(sevens, groups, n / 8, "s32");
  CHECK(repack(weights("s4", n, k, 32), from).codes == canonical(4, n, k, 8, code));
  from.zeros = {};
  CHECK(repack(weights("s4", n, k, 32), from).codes == canonical(4, n, k, 8, code));
  g_idx[70] = 0;
  const Made refused = repack(weights("s4", n, k, 32), from);
  CHECK(refused.status == TILESMITH_BAD_ARGUMENT);
  CHECK(refused.error.find("g_idx[70] is 0: expected 2") == 0);
  CHECK(refused.codes == std::vector<unsigned char>(refused.codes.size()));
}

TEST_CASE("weights: AWQ's words are unpacked along N in its order") {
  const std::int64_t n = 32, k = 64, groups = 1;
  constexpr int kOrder[] = {0, 2, 4, 6, 1, 3, 5, 7};
  const auto code = [](std::int64_t i, std::int64_t j) { return any(i, j, 16); };
  std::vector<std::int32_t> qweight(std::size_t(k * n / 8)), qzeros(std::size_t(n / 8));
  for (std::int64_t word = 0; word < n / 8; ++word) {
    for (int nibble = 0; nibble < 8; ++nibble) {
      const std::int64_t column = word * 8 + kOrder[nibble];
      for (std::int64_t j = 0; j < k; ++j) qweight[std::size_t(j * n / 8 + word)] |= std::int32_t(code(column, j) << (4 * nibble));
      qzeros[std::size_t(word)] |= std::int32_t(any(99, column, 16) << (4 * nibble));
    }
  }
  const std::vector<std::uint16_t> scales(std::size_t(n), 0x3c00);
  tilesmith_weights_source from = source(TILESMITH_WEIGHTS_AWQ);
  from.codes = array(qweight, k, n / 8, "s32");
  from.zeros = array(qzeros, groups, n / 8, "s32");
  from.scales = array(scales, groups, n, "f16");
  const Made made = repack(weights("u4", n, k, 64, true), from);
  INFO(made.error);
  REQUIRE(made.status == TILESMITH_OK);
  CHECK(made.codes == canonical(4, n, k, 0, code));
  for (std::int64_t i = 0; i < n; ++i) {
    REQUIRE(f32_at(made.zeros, std::size_t(i)) == float(any(99, i, 16)));
    REQUIRE(f32_at(made.scales, std::size_t(i)) == 1);
  }
}

TEST_CASE("weights: blocks of GGUF bring their scales with them") {
  const std::int64_t n = 5, k = 96;
  for (const bool q4 : {true, false}) {
    const std::size_t bytes = q4 ? 18 : 34;
    std::vector<unsigned char> blocks(std::size_t(n * k / 32) * bytes);
    const auto code = [&](std::int64_t i, std::int64_t j) { return any(i, j, q4 ? 16 : 256); };
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t b = 0; b < k / 32; ++b) {
        unsigned char* const block = blocks.data() + std::size_t(i * (k / 32) + b) * bytes;
        block[1] = (unsigned char)(0x3c + 4 * b);  // 1, 2, 4
        for (int j = 0; j < 32; ++j) {
          const unsigned of = code(i, b * 32 + j);
          if (q4) block[2 + j % 16] = (unsigned char)(block[2 + j % 16] | of << (j / 16 * 4));
          else block[2 + j] = (unsigned char)(int(of) - 128);
        }
      }
    }
    tilesmith_weights_source from = source(q4 ? TILESMITH_WEIGHTS_Q4_0 : TILESMITH_WEIGHTS_Q8_0);
    from.codes = array(blocks, n, std::int64_t(blocks.size()) / n, "u8");
    const Made made = repack(weights(q4 ? "s4" : "s8", n, k, 32), from);
    INFO(made.error);
    REQUIRE(made.status == TILESMITH_OK);
    CHECK(made.codes == canonical(q4 ? 4 : 8, n, k, q4 ? 8 : 128, code));
    for (std::int64_t b = 0; b < 3; ++b) CHECK(f32_at(made.scales, std::size_t(b * n + 2)) == std::ldexp(1.0F, int(b)));
  }
}

TEST_CASE("weights: scales of a row for each row of weights are turned, and become the type that is asked for") {
  const std::int64_t n = 3, k = 64;
  const std::vector<signed char> codes(std::size_t(n * k), -5), zeros{1, 2, 3, 4, 5, 6};
  const std::vector<float> scales{0.1F, 1e-7F, 3, 70000, -0.333F, 6.2e-5F};
  tilesmith_weights_source from = source(TILESMITH_WEIGHTS_BYTES);
  from.codes = array(codes, n, k, "s8");
  from.scales = array(scales, n, 2, "f32");
  from.zeros = array(zeros, n, 2, "s8");
  const Made made = repack(weights("s8", n, k, 32, true), from);
  INFO(made.error);
  REQUIRE(made.status == TILESMITH_OK);
  CHECK(f32_at(made.scales, 1) == scales[2]);
  CHECK(f32_at(made.scales, 3) == scales[1]);
  CHECK(f32_at(made.zeros, 5) == 6);
  const auto u16_of = [&](const char* type, std::size_t index) {
    std::uint16_t bits;
    std::memcpy(&bits, repack(weights("s8", n, k, 32, true, type), from).scales.data() + 2 * index, 2);
    return bits;
  };
  CHECK(u16_of("f16", 0) == 0x2e66);   // 0.1
  CHECK(u16_of("f16", 3) == 0x0002);   // 1e-7: 1.68 of 2^-24
  CHECK(u16_of("f16", 4) == 0x7c00);   // beyond
  CHECK(u16_of("f16", 2) == 0xb554);   // -0.333
  CHECK(u16_of("f16", 5) == 0x0410);   // 6.2e-5
  CHECK(u16_of("bf16", 0) == 0x3dcd);  // 0.1
}

TEST_CASE("weights: what does not fit is refused in one line that says what was expected") {
  const std::int64_t n = 16, k = 64;
  const std::vector<unsigned char> codes(std::size_t(n * k));
  const std::vector<float> scales(std::size_t(n * 2), 1);
  tilesmith_weights_source right = source(TILESMITH_WEIGHTS_BYTES);
  right.codes = array(codes, n, k, "u8");
  right.scales = array(scales, 2, n, "f32");
  REQUIRE(repack(weights("u4", n, k, 32), right).status == TILESMITH_OK);
  const auto refused = [&](const std::function<void(tilesmith_weights_source&)>& edit, const std::string& line, const char* type = "u4", bool zeros = false) {
    tilesmith_weights_source from = right;
    edit(from);
    const Made made = repack(weights(type, n, k, 32, zeros), from);
    CHECK(made.status == TILESMITH_BAD_ARGUMENT);
    CHECK(made.error == line);
    CHECK(made.codes == std::vector<unsigned char>(made.codes.size()));
  };
  refused([&](auto& from) { from.scales.rows = 1; }, "scales is 1x16: expected 2x16, one row for each group of columns of weights, or 16x2");
  refused([&](auto& from) { from.scales.data = nullptr; }, "scales is null: expected 2x16 of f16, bf16 or f32");
  refused([&](auto& from) { std::strcpy(from.scales.type, "s8"); }, "scales is of s8: expected f16, bf16 or f32");
  refused([&](auto& from) { from.codes.columns = 63; }, "codes is 16x63: expected 16x64");
  refused([&](auto& from) { from.codes.data = nullptr; }, "codes is null: expected 16x64 of u8");
  refused([&](auto& from) { from.zeros = from.scales; }, "zeros is given: expected none, the weights have none");
  refused([&](auto&) {}, "zeros is null: expected 2x16, as scales", "u4", true);
  refused([&](auto& from) { from.format = 9; }, "format is 9: expected a tilesmith_weights_format");
  refused([&](auto& from) { from.format = TILESMITH_WEIGHTS_AWQ; }, "type of weights is s8: expected u4 of AWQ", "s8");
  refused([&](auto& from) { from.format = TILESMITH_WEIGHTS_AWQ; }, "weights of AWQ as u4 have no zeros: expected has_zeros, or s4");
  refused([&](auto& from) { from.format = TILESMITH_WEIGHTS_GPTQ; from.codes.rows = 8, from.codes.columns = 16; }, "codes is of u8: expected s32", "s4");
  refused([&](auto& from) { from.g_idx = from.codes; }, "g_idx is given: expected none, it is of GPTQ");

  const auto no_weights = [](const char* type, std::int64_t of_k, std::int64_t group, const char* scale, const std::string& line) {
    tilesmith_weights made;
    CHECK(tilesmith_weights_init(&made, type, 16, of_k, group, scale, 0) == TILESMITH_BAD_ARGUMENT);
    CHECK(tilesmith_last_error() == line);
    CHECK(made.size == 0);
  };
  no_weights("s5", 64, 32, "f16", "type of weights is 's5': expected s4, u4, s8 or e4m3");
  no_weights("s4", 64, 48, "f16", "group is 48: expected 32, 64, 128, or 0 for the whole row of weights");
  no_weights("s4", 96, 64, "f16", "group is 64: expected one that divides k, 96, or 0 for the whole row of weights");
  no_weights("s4", 64, 32, "f64", "scale_type is 'f64': expected f16, bf16 or f32");
  no_weights("nf4", 64, 32, "f16", "type of weights is 'nf4': expected s4, u4, s8 or e4m3");
  CHECK(tilesmith_weights_repack(nullptr, nullptr, nullptr, &right, nullptr, nullptr, nullptr) == TILESMITH_BAD_ARGUMENT);
}

TEST_CASE("weights: the kernels that repack compile for Ampere and Hopper without spills") {
  if (!runtime::nvrtc_unavailable_because().empty()) return;
  for (const char* arch : {"sm_87", "sm_90a"}) {
    for (const char* entry : {"repack_codes", "repack_scales", "check_order", "check_zeros"}) {
      const runtime::SourceBuild built = runtime::compile_source(runtime::RepackKernels::source(), "repack.cu", entry,
                                                                 {std::string("--gpu-architecture=") + arch, "--std=c++17", "--device-as-default-execution-space"});
      INFO(arch << " " << entry << ": " << built.log);
      CHECK(built.ok);
      CHECK(built.spill_bytes == 0);
      CHECK(built.registers > 0);
    }
  }
}
