// What tilesmith_weights.h makes of others' weights, in host memory, by the same code as the device's.
#include <cmath>

#include "tests/runtime/repacked.hpp"

using namespace tilesmith::repacked;

TEST_CASE("weights: codes one a byte and in nibbles become the documented layout, padded by the code of 0") {
  for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {16, 64}, {17, 65}, {40, 200}, {33, 31}}) {
    INFO(n << "x" << k);
    const std::vector<float> scales = some_scales(1, n);
    const auto code4 = [](std::int64_t i, std::int64_t j) { return any(i, j, 16); };
    const auto code8 = [](std::int64_t i, std::int64_t j) { return any(i, j, 256); };
    std::vector<unsigned char> bytes4, signed4, nibbles(std::size_t(n * ((k + 1) / 2))), signed_nibbles(nibbles.size()),
        bytes8, signed8;
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
    const auto check = [&](const char* type, int format, const tilesmith_array& codes,
                           const std::vector<unsigned char>& want) {
      tilesmith_weights_source from = source(format);
      from.codes = codes;
      from.scales = array(scales, 1, n, "f32");
      const Made made = repack(weights(type, n, k, 0), from);
      INFO(type << " " << codes.type << " " << made.error);
      REQUIRE(made.status == TILESMITH_OK);
      CHECK(made.codes == want);
      CHECK(std::memcmp(made.scales.data(), scales.data(), made.scales.size()) == 0);
    };
    const std::vector<unsigned char> s4 = canonical(4, n, k, 8, code4), u4 = canonical(4, n, k, 0, code4),
                                     s8 = canonical(8, n, k, 128, code8), raw = canonical(8, n, k, 0, code8);
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

TEST_CASE(
    "weights: GPTQ's words are unpacked along K, its zeros along N, 1 higher than they are stored in the first version") {
  const std::int64_t n = 24, k = 128, groups = 4;
  const auto code = [](std::int64_t i, std::int64_t j) { return any(i, j, 16); };
  std::vector<std::int32_t> qweight(std::size_t(k / 8 * n)), qzeros(std::size_t(groups * n / 8)),
      sevens(qzeros.size(), 0x77777777), g_idx;
  for (std::int64_t j = 0; j < k; ++j) {
    g_idx.push_back(std::int32_t(j / 32));
    for (std::int64_t i = 0; i < n; ++i) qweight[std::size_t(j / 8 * n + i)] |= std::int32_t(code(i, j) << (j % 8 * 4));
  }
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t i = 0; i < n; ++i)
      qzeros[std::size_t(g * n / 8 + i / 8)] |= std::int32_t(any(g, i, 15) << (i % 8 * 4));
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

TEST_CASE("weights: GPTQ's first version stores a zero of 0 as the highest code, of 4 and of 8 bits") {
  const std::int64_t n = 8, k = 32;
  for (const int bits : {4, 8}) {
    const std::int64_t in_word = 32 / bits;
    const int highest = (1 << bits) - 1, middle = 1 << (bits - 1);
    std::vector<std::int32_t> qweight(std::size_t(k / in_word * n)), qzeros(std::size_t(n / in_word));
    const std::vector<int> stored = {highest, 0, highest - 1, middle, middle - 1, 3, highest, 1};
    for (std::size_t i = 0; i < stored.size(); ++i)
      qzeros[i / std::size_t(in_word)] |= std::int32_t(std::uint32_t(stored[i]) << (int(i) % int(in_word) * bits));
    const std::vector<float> scales = some_scales(1, n);
    tilesmith_weights_source from = source(TILESMITH_WEIGHTS_GPTQ);
    from.codes = array(qweight, k / in_word, n, "s32");
    from.zeros = array(qzeros, 1, n / in_word, "s32");
    from.scales = array(scales, 1, n, "f32");
    for (const int version : {1, 2}) {
      from.format = version == 1 ? TILESMITH_WEIGHTS_GPTQ : TILESMITH_WEIGHTS_GPTQ_V2;
      const Made made = repack(weights(bits == 4 ? "u4" : "s8", n, k, 0, true), from);
      INFO(made.error);
      REQUIRE(made.status == TILESMITH_OK);
      for (std::size_t i = 0; i < stored.size(); ++i) {
        const int zero = version == 1 ? (stored[i] + 1) % (1 << bits) : stored[i];
        CHECK(f32_at(made.zeros, i) == float(zero - (bits == 8 ? 128 : 0)));  // of s8 an element is its code, less 128
      }
    }
    from.format = TILESMITH_WEIGHTS_GPTQ;
    CHECK(repack(weights(bits == 4 ? "s4" : "s8", n, k, 0), from)
              .error.find("zeros[0][0] is 0: expected " + std::to_string(middle) + " everywhere") == 0);
  }
}

TEST_CASE("weights: zeros one above the middle everywhere are those of GPTQ's second version") {
  const std::int64_t n = 12, k = 64, groups = 2;  // half of the second word is no zero
  const std::vector<std::int32_t> qweight(std::size_t(k / 8 * n), 0x12345678);
  std::vector<std::int32_t> qzeros = {std::int32_t(0x88888888U), 0x00008888, std::int32_t(0x88888888U), 0x12348888};
  const std::vector<float> scales = some_scales(groups, n);
  tilesmith_weights_source from = source(TILESMITH_WEIGHTS_GPTQ);
  from.codes = array(qweight, k / 8, n, "s32");
  from.zeros = array(qzeros, groups, 2, "s32");
  from.scales = array(scales, groups, n, "f32");
  const Made refused = repack(weights("u4", n, k, 32, true), from);
  CHECK(refused.status == TILESMITH_BAD_ARGUMENT);
  CHECK(refused.error.find("zeros are 9 everywhere, one above the middle: version 2?") == 0);
  CHECK(refused.zeros == std::vector<unsigned char>(refused.zeros.size()));
  from.format = TILESMITH_WEIGHTS_GPTQ_V2;
  CHECK(repack(weights("s4", n, k, 32), from).status == TILESMITH_OK);
  CHECK(f32_at(repack(weights("u4", n, k, 32, true), from).zeros, 3) == 8);
  from.format = TILESMITH_WEIGHTS_GPTQ;
  qzeros[3] = 0x12347888;  // a single one that is 8
  const Made made = repack(weights("u4", n, k, 32, true), from);
  REQUIRE(made.status == TILESMITH_OK);
  CHECK(f32_at(made.zeros, 22) == 9);
  CHECK(f32_at(made.zeros, 23) == 8);
}

TEST_CASE("weights: AWQ's words are unpacked along N in its order") {
  const std::int64_t n = 32, k = 64, groups = 1;
  constexpr int kOrder[] = {0, 2, 4, 6, 1, 3, 5, 7};
  const auto code = [](std::int64_t i, std::int64_t j) { return any(i, j, 16); };
  std::vector<std::int32_t> qweight(std::size_t(k * n / 8)), qzeros(std::size_t(n / 8));
  for (std::int64_t word = 0; word < n / 8; ++word) {
    for (int nibble = 0; nibble < 8; ++nibble) {
      const std::int64_t column = word * 8 + kOrder[nibble];
      for (std::int64_t j = 0; j < k; ++j)
        qweight[std::size_t(j * n / 8 + word)] |= std::int32_t(code(column, j) << (4 * nibble));
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

TEST_CASE(
    "weights: MXFP4 stays e2m1, or becomes e4m3 with the same values, and its powers of two stay, unless f16 does not hold one") {
  const std::int64_t n = 3, k = 64;
  constexpr unsigned kE4m3[] = {
      0x00, 0x30, 0x38, 0x3c, 0x40, 0x44, 0x48, 0x4c, 0x80, 0xb0, 0xb8, 0xbc, 0xc0, 0xc4, 0xc8, 0xcc};
  const auto code = [](std::int64_t i, std::int64_t j) { return any(i, j, 16); };
  std::vector<unsigned char> nibbles(std::size_t(n * k / 2));
  for (std::int64_t at = 0; at < n * k; ++at)
    nibbles[std::size_t(at / 2)] = (unsigned char)(nibbles[std::size_t(at / 2)] | code(at / k, at % k) << (at % 2 * 4));
  const std::vector<unsigned char> exponents{127, 128, 0, 254, 120, 1};
  tilesmith_weights_source from = source(TILESMITH_WEIGHTS_MXFP4);
  from.codes = array(nibbles, n, k / 2, "u4");
  from.scales = array(exponents, n, 2, "u8");
  const Made made = repack(weights("e4m3", n, k, 32), from);
  INFO(made.error);
  REQUIRE(made.status == TILESMITH_OK);
  CHECK(made.codes == canonical(8, n, k, 0, [&](std::int64_t i, std::int64_t j) { return kE4m3[code(i, j)]; }));
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(f32_at(made.scales, i % 2 * 3 + i / 2) == std::ldexp(1.0F, int(exponents[i]) - 127));
  const Made as_they_are = repack(weights("e2m1", n, k, 32), from);
  INFO(as_they_are.error);
  REQUIRE(as_they_are.status == TILESMITH_OK);
  CHECK(as_they_are.codes == canonical(4, n, k, 0, code));
  CHECK(as_they_are.scales == made.scales);
  CHECK(repack(weights("s4", n, k, 32), from).error == "type of weights is s4: expected e2m1 or e4m3 of MXFP4");
  CHECK(repack(weights("e2m1", n, k, 64), from).error == "group is 64: expected 32 of MXFP4");
  CHECK(
      repack(weights("e2m1", n, k, 32, false, "f16"), from).error ==
      "scales[1][0] is 2^-127: expected 2^-24 to 2^15, which scale_type f16 holds, or scale_type bf16 or f32; nothing was repacked");
  const std::vector<unsigned char> held{103, 142, 127, 255, 104, 141};
  from.scales = array(held, n, 2, "u8");
  const Made half = repack(weights("e2m1", n, k, 32, false, "f16"), from);
  REQUIRE(half.status == TILESMITH_OK);
  const auto half_at = [&](std::size_t i) {
    return unsigned(half.scales[2 * i]) | unsigned(half.scales[2 * i + 1]) << 8;
  };
  CHECK(half_at(0) == 0x0001);
  CHECK(half_at(3) == 0x7800);
  CHECK(half_at(1) == 0x3c00);
  CHECK(half_at(4) == 0x7e00);
}

TEST_CASE("weights: of bitsandbytes' NF4 the upper half of a byte comes first, and absmax is a scale") {
  const std::int64_t n = 18, k = 192;
  const auto code = [](std::int64_t i, std::int64_t j) { return any(i, j, 16); };
  std::vector<unsigned char> packed(std::size_t(n * k / 2));
  for (std::int64_t at = 0; at < n * k; ++at)
    packed[std::size_t(at / 2)] =
        (unsigned char)(packed[std::size_t(at / 2)] | code(at / k, at % k) << (at % 2 == 0 ? 4 : 0));
  for (const std::int64_t group : {32, 64, 0}) {
    const std::int64_t groups = group == 0 ? 1 : k / group;
    const std::vector<float> absmax = some_scales(n, groups);
    for (const auto& [rows, columns] :
        {std::pair<std::int64_t, std::int64_t>{n * k / 2, 1}, {n, k / 2}, {1, n * k / 2}}) {
      tilesmith_weights_source from = source(TILESMITH_WEIGHTS_BNB_NF4);
      from.codes = array(packed, rows, columns, "u8");
      from.scales = rows == n ? array(absmax, n, groups, "f32") : array(absmax, 1, n * groups, "f32");
      const Made made = repack(weights("nf4", n, k, group, false, "f32"), from);
      INFO(group << " " << rows << "x" << columns << ": " << made.error);
      REQUIRE(made.status == TILESMITH_OK);
      CHECK(made.codes == canonical(4, n, k, 7, code));
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t g = 0; g < groups; ++g)
          CHECK(f32_at(made.scales, std::size_t(g * n + i)) == absmax[std::size_t(i * groups + g)]);
      }
    }
  }
  const std::vector<float> absmax = some_scales(n, 3);
  tilesmith_weights_source from = source(TILESMITH_WEIGHTS_BNB_NF4);
  from.codes = array(packed, n, k / 2, "u8");
  from.scales = array(absmax, n, 3, "f32");
  CHECK(
      repack(weights("e2m1", n, k, 64), from).error == "type of weights is e2m1: expected nf4 of NF4 of bitsandbytes");
  CHECK(repack(weights("nf4", n, k, 32), from).error == "scales is 18x3: expected 18x6");
  std::strcpy(from.scales.type, "u8");
  CHECK(repack(weights("nf4", n, k, 64), from).error == "scales is of u8: expected f32");
  std::strcpy(from.scales.type, "f32");
  from.zeros = from.scales;
  CHECK(repack(weights("nf4", n, k, 64), from).error == "zeros is given: expected none, the weights have none");
}

TEST_CASE("weights: codes of e2m1 and nf4 are taken as they are, and have no zeros") {
  const std::int64_t n = 20, k = 70;
  const auto code = [](std::int64_t i, std::int64_t j) { return any(i, j, 16); };
  std::vector<unsigned char> bytes;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < k; ++j) bytes.push_back((unsigned char)code(i, j));
  }
  const std::vector<float> scales = some_scales(1, n);
  for (const auto& [type, padding] : {std::pair{"e2m1", 0}, {"nf4", 7}}) {
    tilesmith_weights_source from = source(TILESMITH_WEIGHTS_BYTES);
    from.codes = array(bytes, n, k, "u8");
    from.scales = array(scales, 1, n, "f32");
    const Made made = repack(weights(type, n, k, 0), from);
    INFO(type << " " << made.error);
    REQUIRE(made.status == TILESMITH_OK);
    CHECK(made.codes == canonical(4, n, k, padding, code));
    tilesmith_weights none;
    CHECK(tilesmith_weights_init(&none, type, n, k, 0, "f16", 1) == TILESMITH_BAD_ARGUMENT);
    CHECK(tilesmith_last_error() == std::string("has_zeros is 1: expected 0 of ") + type);
  }
}

TEST_CASE("weights: scales of a row for each row of weights are turned, and become the type that is asked for") {
  const std::int64_t n = 3, k = 64;
  const std::vector<signed char> codes(std::size_t(n * k), -5), zeros{1, 2, 3, 4, 5, 6};
  const std::vector<float> scales{0.1F, 1e-7F, 3, 65504, -0.333F, 6.2e-5F};
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
  CHECK(u16_of("f16", 4) == 0x7bff);   // 65504
  CHECK(u16_of("f16", 2) == 0xb554);   // -0.333
  CHECK(u16_of("f16", 5) == 0x0410);   // 6.2e-5
  CHECK(u16_of("bf16", 0) == 0x3dcd);  // 0.1
}
