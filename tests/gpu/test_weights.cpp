// Products with weights: a sample of every family, the repacking on the device, and the library.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/compile/compiler.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/interface/gemm.hpp"
#include "runtime/interface/tilesmith_weights.h"
#include "tests/catch.hpp"
#include "tests/gpu/family_sample.hpp"
#include "tests/gpu/planted_weights_bugs.hpp"
#include "tests/gpu/weights_arrays.hpp"
#include "tuner/verify/number_formats.hpp"
#include "tuner/verify/verifier.hpp"

namespace tilesmith::test_weights {
using namespace tilesmith::test;

namespace {

std::vector<std::int32_t> some_words(std::size_t count, std::uint32_t seed) {
  std::vector<std::int32_t> words;
  for (std::size_t i = 0; i < count; ++i) words.push_back(std::int32_t((seed = seed * 1664525u + 1013904223u)));
  return words;
}

Library quiet_library() {
  LibraryOptions quiet;
  quiet.log_misses = false;
  return Library::without_database(quiet);
}

}  // namespace

TEST_CASE("a sample of every family passes the suite with weights", "[gpu][weights]") {
  const runtime::Context context(0);
  Signatures signatures;
  for (const auto& together : std::vector<std::vector<const char*>>{
           {"f16f32f16 NT weights=s4_g128", "f16f32f16 NT weights=u4_g64+zeros", "f16f32f16 TT weights=s8_column+f32",
               "f16f32f16 NT epilogue=bias_n+gelu weights=e4m3_g128+f32",
               "f16f32f16 NT epilogue=scale_m+scale_n1+bias_n_f32 weights=s4_g32+zeros+f32",
               "f16f32f16 NT weights=e2m1_g64", "f16f32f16 NT weights=nf4_g64", "f16f32f16 NT weights=q4_k",
               "f16f32f16 NT epilogue=bias_n+silu weights=q4_k", "f16f32f16 NT weights=q6_k",
               "f16f32f16 NT epilogue=bias_n+relu weights=nf4_column+f32"},
           {"bf16f32bf16 NT weights=s4_g128", "bf16f32bf16 TT weights=u4_column+zeros",
               "bf16f32bf16 NT weights=s8_g64+zeros", "bf16f32bf16 NT epilogue=swiglu weights=s4_g128",
               "bf16f32bf16 NT epilogue=c_apart weights=u4_g128+zeros", "bf16f32bf16 NT weights=e2m1_g32",
               "bf16f32bf16 NT weights=nf4_g128", "bf16f32bf16 NT weights=q4_k",
               "bf16f32bf16 NT epilogue=swiglu weights=q4_k", "bf16f32bf16 NT weights=q6_k",
               "bf16f32bf16 NT epilogue=swiglu weights=q6_k", "bf16f32bf16 TT epilogue=swiglu weights=e2m1_column+f32"},
           {"e4m3f32bf16 NT epilogue=scale_m weights=s4_g128", "e4m3f32bf16 NT epilogue=swiglu weights=u4_g32+zeros",
               "e4m3f32bf16 TT weights=e2m1_column"},
           {"e4m3f32f16 NT epilogue=scale_m+bias_n weights=s4_g64+zeros+f32"}, {"e4m3f32 NT weights=u4_g128+f32"},
           {"s8s32bf16 NT epilogue=scale_m weights=s4_g128",
               "s8s32bf16 NT epilogue=scale_m+swiglu weights=u4_g64+zeros"},
           {"s8s32f16 NT epilogue=scale_m+bias_n+gelu weights=e2m1_g32"}}) {
    auto& of_type = signatures.emplace_back();
    for (const char* signature : together) of_type.push_back(signature_of(signature));
  }
  verify_sample(context, 12, std::numeric_limits<double>::infinity(), signatures);
}

TEST_CASE(
    "tuned problems with weights are proven by a reference that the host proves, and a scale of the neighbour's shows",
    "[gpu][weights]") {
  const runtime::Context context(0);
  tuner::Verifier verifier(context);
  for (const char* text : {"f16f32f16 NT 333 177 640 ldc=180 beta=any weights=s4_g128",
           "f16f32f16 TT 16 1000 4096 weights=u4_g64+zeros", "bf16f32bf16 NT 1 4096 4096 weights=s8_column",
           "bf16f32bf16 NT 70 130 14336 epilogue=bias_n+relu weights=e4m3_g32+zeros+f32",
           "f16f32f16 NT 256 512 9216 weights=s8_g128", "bf16f32bf16 NT 16 1000 4096 weights=e2m1_g32",
           "bf16f32bf16 NT 16 1000 4096 weights=q4_k", "f16f32f16 NT 16 1000 4096 weights=q6_k",
           "f16f32f16 NT 1 4096 4096 weights=nf4_g64", "bf16f32bf16 NT 130 300 2048 weights=nf4_g128",
           "e4m3f32bf16 NT 70 1000 4096 epilogue=scale_m weights=s4_g128",
           "s8s32bf16 NT 33 520 2048 epilogue=scale_m weights=u4_g64+zeros"}) {
    std::string error;
    const Problem problem = parse_problem(text, error).value();
    const KernelTarget target{problem, context.info().limits};
    const Config config = generic_config(target);
    const auto outcome_of = [&](const std::string& source) {
      const runtime::SourceBuild built =
          runtime::compile_source(source, "weights.cu", "gemm", runtime::compiler_options(target));
      INFO(built.log);
      REQUIRE(built.ok);
      return verifier.on_problem(runtime::Plan(std::make_shared<const runtime::Module>(built.cubin), config, problem));
    };
    const db::Outcome right = outcome_of(find_family("simt")->source(config, target));
    INFO(text << ": " << right.message);
    CHECK(right.status == db::Status::ok);
    const planted::Bug bug = planted::weights_bugs().at(7);
    std::vector<std::string> seen;
    std::string wrong = planted::spliced(find_family("simt")->source(config, target), seen);
    const std::size_t at = wrong.find(bug.edits[0].find);
    REQUIRE(at != std::string::npos);
    wrong.replace(at, std::string(bug.edits[0].find).size(), bug.edits[0].replace);
    CHECK(outcome_of(wrong).status == db::Status::mismatch);
  }
}

TEST_CASE("weights that the device repacks are those that the host repacks", "[gpu][weights]") {
  const runtime::Context context(0);
  const Library library = quiet_library();
  runtime::Stream stream;
  const std::int64_t n = 200, k = 384, groups = 3;
  const std::vector<std::int32_t> codes = some_words(std::size_t(n * k), 1),
                                  zeros = some_words(std::size_t(groups * n), 2);
  const std::vector<float> scales(std::size_t(groups * n), 0.37F);
  const runtime::DeviceBuffer codes_there = values_on_device(codes), zeros_there = values_on_device(zeros),
                              scales_there = values_on_device(scales);
  struct Format {
    int format;
    const char* type;
    std::int64_t rows, columns;
    const char* of;
    bool zeros;
    int a_bits = 16;
  };
  for (const Format& format : {Format{TILESMITH_WEIGHTS_BYTES, "s8", n, k, "s8", false},
           {TILESMITH_WEIGHTS_NIBBLES, "s4", n, k / 2, "s4", false},
           {TILESMITH_WEIGHTS_GPTQ, "u4", k / 8, n, "s32", true}, {TILESMITH_WEIGHTS_GPTQ, "s8", k / 4, n, "s32", true},
           {TILESMITH_WEIGHTS_GPTQ_V2, "u4", k / 8, n, "s32", true},
           {TILESMITH_WEIGHTS_AWQ, "u4", k, n / 8, "s32", true}, {TILESMITH_WEIGHTS_BYTES, "nf4", n, k, "u8", false},
           {TILESMITH_WEIGHTS_NIBBLES, "e2m1", n, k / 2, "u4", false},
           {TILESMITH_WEIGHTS_BNB_NF4, "nf4", n * k / 2, 1, "u8", false},
           {TILESMITH_WEIGHTS_NIBBLES, "s4", n, k / 2, "s4", false, 8},
           {TILESMITH_WEIGHTS_GPTQ, "u4", k / 8, n, "s32", true, 8},
           {TILESMITH_WEIGHTS_AWQ, "u4", k, n / 8, "s32", true, 8},
           {TILESMITH_WEIGHTS_NIBBLES, "e2m1", n, k / 2, "u4", false, 8}}) {
    tilesmith_weights made;
    REQUIRE(tilesmith_weights_init(&made, format.type, n, k, 128, "bf16", format.zeros) == TILESMITH_OK);
    made.a_bits = format.a_bits;
    tilesmith_weights_sizes sizes;
    REQUIRE(tilesmith_weights_bytes(&made, &sizes) == TILESMITH_OK);
    tilesmith_weights_source from;
    REQUIRE(tilesmith_weights_source_init(&from, format.format) == TILESMITH_OK);
    const auto point = [&](const void* of_codes, const void* of_scales, const void* of_zeros) {
      from.codes = array_of(of_codes, format.rows, format.columns, format.of);
      from.scales = format.format == TILESMITH_WEIGHTS_BNB_NF4 ? array_of(of_scales, 1, n * groups, "f32")
                                                               : array_of(of_scales, groups, n, "f32");
      if (format.zeros)
        from.zeros = array_of(of_zeros, groups, std::strcmp(format.type, "s8") == 0 ? n / 4 : n / 8, "s32");
    };
    std::vector<unsigned char> host_codes(sizes.codes), host_scales(sizes.scales), host_zeros(sizes.zeros);
    from.on_host = 1;
    point(codes.data(), scales.data(), zeros.data());
    REQUIRE(tilesmith_weights_repack(nullptr, nullptr, &made, &from, host_codes.data(), host_scales.data(),
                format.zeros ? host_zeros.data() : nullptr) == TILESMITH_OK);
    runtime::DeviceBuffer to_codes(sizes.codes), to_scales(sizes.scales),
        to_zeros(std::max<std::size_t>(16, sizes.zeros));
    from.on_host = 0;
    point(codes_there.data(), scales_there.data(), zeros_there.data());
    library.repack_weights(
        stream.get(), made, from, to_codes.data(), to_scales.data(), format.zeros ? to_zeros.data() : nullptr);
    stream.synchronize();
    INFO(format.type << " of format " << format.format << " for " << format.a_bits);
    CHECK(bytes_from_device(to_codes, sizes.codes) == host_codes);
    CHECK(bytes_from_device(to_scales, sizes.scales) == host_scales);
    CHECK(bytes_from_device(to_zeros, sizes.zeros) == host_zeros);
  }
}

TEST_CASE(
    "act-order, zeros where weights have none, and scales that f16 does not hold are refused on the device before anything is repacked",
    "[gpu][weights]") {
  const runtime::Context context(0);
  const Library library = quiet_library();
  const std::int64_t n = 16, k = 64;
  std::vector<std::int32_t> order;
  for (std::int64_t column = 0; column < k; ++column) order.push_back(std::int32_t(column / 32));
  order[40] = 0;
  const std::vector<std::int32_t> sevens(std::size_t(2 * n / 8), 0x77777777);
  std::vector<std::int32_t> other = sevens;
  other[3] = 0x77877777;
  const runtime::DeviceBuffer codes = values_on_device(some_words(std::size_t(k / 8 * n), 3)),
                              scales = values_on_device(std::vector<float>(std::size_t(2 * n), 1)),
                              order_there = values_on_device(order), right = values_on_device(sevens),
                              wrong = values_on_device(other);
  tilesmith_weights made;
  REQUIRE(tilesmith_weights_init(&made, "s4", n, k, 32, "f16", 0) == TILESMITH_OK);
  tilesmith_weights_source from;
  REQUIRE(tilesmith_weights_source_init(&from, TILESMITH_WEIGHTS_GPTQ) == TILESMITH_OK);
  from.codes = array_of(codes.data(), k / 8, n, "s32");
  from.scales = array_of(scales.data(), 2, n, "f32");
  runtime::DeviceBuffer to_codes(512), to_scales(std::size_t(2 * 2 * n));
  to_codes.fill(0xee);
  const auto message = [&] {
    try {
      library.repack_weights(nullptr, made, from, to_codes.data(), to_scales.data(), nullptr);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  from.g_idx = array_of(order_there.data(), 1, k, "s32");
  CHECK(message().find("g_idx[40] is 0: expected 1") == 0);
  from.g_idx = {};
  from.zeros = array_of(wrong.data(), 2, n / 8, "s32");
  CHECK(message().find("zeros[1][13] is 9: expected 8") == 0);
  CHECK(bytes_from_device(to_codes, 512) == std::vector<unsigned char>(512, 0xee));
  from.zeros = array_of(right.data(), 2, n / 8, "s32");
  CHECK(message().empty());
  std::vector<unsigned char> exponents(std::size_t(2 * n), 120);
  exponents[7] = 97;
  const runtime::DeviceBuffer powers = values_on_device(exponents);
  REQUIRE(tilesmith_weights_init(&made, "e2m1", n, k, 32, "f16", 0) == TILESMITH_OK);
  REQUIRE(tilesmith_weights_source_init(&from, TILESMITH_WEIGHTS_MXFP4) == TILESMITH_OK);
  from.codes = array_of(codes.data(), n, k / 2, "u4");
  from.scales = array_of(powers.data(), n, 2, "u8");
  CHECK(message().find("scales[3][1] is 2^-30: expected 2^-24 to 2^15") == 0);
}

TEST_CASE("blocks of K-quants that the device repacks are those that the host repacks, and NaN is refused",
    "[gpu][weights]") {
  const auto [type, format, block_bytes, group, d_at] = GENERATE(
      std::tuple{"q4_k", TILESMITH_WEIGHTS_Q4_K, 144, 32, 0}, std::tuple{"q6_k", TILESMITH_WEIGHTS_Q6_K, 210, 16, 208});
  const runtime::Context context(0);
  const Library library = quiet_library();
  runtime::Stream stream;
  const std::int64_t n = 50, k = 768, blocks = n * k / 256;
  std::vector<unsigned char> bytes;
  for (const std::int32_t word : some_words(std::size_t(blocks * block_bytes), 4)) bytes.push_back(word >> 24 & 0xff);
  for (std::int64_t block = 0; block < blocks; ++block) {  // d, and dmin, which is a number whatever Q6_K has there
    bytes[std::size_t(block * block_bytes + d_at + 1)] &= 0x3f;
    bytes[std::size_t(block * block_bytes + 3)] &= 0x3f;
  }
  tilesmith_weights made;
  tilesmith_weights_sizes sizes;
  tilesmith_weights_source from;
  REQUIRE(tilesmith_weights_init(&made, type, n, k, group, "f16", 1) == TILESMITH_OK);
  REQUIRE(tilesmith_weights_bytes(&made, &sizes) == TILESMITH_OK);
  REQUIRE(tilesmith_weights_source_init(&from, format) == TILESMITH_OK);
  std::vector<unsigned char> host_codes(sizes.codes), host_scales(sizes.scales), host_zeros(sizes.zeros);
  from.on_host = 1;
  from.codes = array_of(bytes.data(), n, k / 256 * block_bytes, "u8");
  REQUIRE(tilesmith_weights_repack(nullptr, nullptr, &made, &from, host_codes.data(), host_scales.data(),
              host_zeros.data()) == TILESMITH_OK);
  runtime::DeviceBuffer there = values_on_device(bytes), codes(sizes.codes), scales(sizes.scales), zeros(sizes.zeros);
  from.on_host = 0;
  from.codes = array_of(there.data(), n, k / 256 * block_bytes, "u8");
  library.repack_weights(stream.get(), made, from, codes.data(), scales.data(), zeros.data());
  stream.synchronize();
  CHECK(bytes_from_device(codes, sizes.codes) == host_codes);
  CHECK(bytes_from_device(scales, sizes.scales) == host_scales);
  CHECK(bytes_from_device(zeros, sizes.zeros) == host_zeros);
  bytes[std::size_t(4 * block_bytes + d_at + 1)] |= 0x7e;  // row 1, block 1
  const runtime::DeviceBuffer wrong = values_on_device(bytes);
  from.codes = array_of(wrong.data(), n, k / 256 * block_bytes, "u8");
  codes.fill(0xee);
  CHECK_THROWS_WITH(library.repack_weights(nullptr, made, from, codes.data(), scales.data(), zeros.data()),
      Catch::Matchers::StartsWith("block 1 of row 1 has d "));
  CHECK(bytes_from_device(codes, 512) == std::vector<unsigned char>(512, 0xee));
}

TEST_CASE("zeros that have no code are refused on the device before anything is repacked", "[gpu][weights]") {
  const runtime::Context context(0);
  const Library library = quiet_library();
  const std::int64_t n = 16, k = 64;
  const runtime::DeviceBuffer codes = values_on_device(some_words(std::size_t(k / 8 * n), 3)),
                              scales = values_on_device(std::vector<float>(std::size_t(2 * n), 1));
  runtime::DeviceBuffer to_codes(512), to_scales(std::size_t(2 * 2 * n));
  tilesmith_weights made;
  tilesmith_weights_source from;
  std::vector<float> numbers(std::size_t(2 * n), 15);
  numbers[18] = 2.5F;
  const runtime::DeviceBuffer no_code = values_on_device(numbers);
  runtime::DeviceBuffer to_zeros(std::size_t(2 * 2 * n));
  REQUIRE(tilesmith_weights_init(&made, "u4", n, k, 32, "f16", 1) == TILESMITH_OK);
  made.a_bits = 8;
  REQUIRE(tilesmith_weights_source_init(&from, TILESMITH_WEIGHTS_NIBBLES) == TILESMITH_OK);
  from.codes = array_of(codes.data(), n, k / 2, "u4");
  from.scales = array_of(scales.data(), 2, n, "f32");
  from.zeros = array_of(no_code.data(), 2, n, "f32");
  to_codes.fill(0xee);
  CHECK_THROWS_WITH(library.repack_weights(nullptr, made, from, to_codes.data(), to_scales.data(), to_zeros.data()),
      "zeros[1][2] is 2.5: expected whole numbers from 0 to 15 with a_bits 8; nothing was repacked");
  CHECK(bytes_from_device(to_codes, 512) == std::vector<unsigned char>(512, 0xee));
}

TEST_CASE("the library multiplies with weights: by gemm(), by a plan, and from C", "[gpu][weights]") {
  const runtime::Context context(0);
  const Library library = quiet_library();
  const std::int64_t m = 5, n = 48, k = 128;
  std::vector<signed char> codes;
  std::vector<std::uint16_t> a, scales;
  a.resize(std::size_t(m * k));
  scales.resize(std::size_t(n));
  for (std::int64_t i = 0; i < n * k; ++i) codes.push_back((signed char)(i * 7 % 15 - 7));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = tuner::to_f16(float(int(i * 5 % 7) - 3));
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = tuner::to_f16(i % 2 == 0 ? 0.5F : 2.0F);
  const runtime::DeviceBuffer codes_there = values_on_device(codes), scales_there = values_on_device(scales),
                              a_there = values_on_device(a);
  tilesmith_weights made;
  REQUIRE(tilesmith_weights_init(&made, "s4", n, k, 0, "f16", 0) == TILESMITH_OK);
  tilesmith_weights_sizes sizes;
  REQUIRE(tilesmith_weights_bytes(&made, &sizes) == TILESMITH_OK);
  tilesmith_weights_source from;
  REQUIRE(tilesmith_weights_source_init(&from, TILESMITH_WEIGHTS_BYTES) == TILESMITH_OK);
  from.codes = array_of(codes_there.data(), n, k, "s8");
  from.scales = array_of(scales_there.data(), 1, n, "f16");
  runtime::DeviceBuffer w(sizes.codes), s(sizes.scales), d(std::size_t(m * n * 2));
  library.repack_weights(nullptr, made, from, w.data(), s.data(), nullptr);
  KernelSignature signature{*find_type_pair("f16f32f16"), {false, true}};
  signature.weights = *parse_weights("s4_column");
  const Problem problem = packed_problem(signature, m, n, k);
  Operands operands{1, a_there.data(), w.data(), 0, nullptr, d.data()};
  operands.weight_scales = s.data();
  const auto check = [&] {
    context.synchronize();
    const std::vector<unsigned char> raw = bytes_from_device(d, std::size_t(m * n * 2));
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += tuner::from_f16(a[std::size_t(i * k + l)]) * codes[std::size_t(j * k + l)];
        std::uint16_t bits;
        std::memcpy(&bits, raw.data() + (i * n + j) * 2, 2);
        REQUIRE(tuner::from_f16(bits) == sum * (j % 2 == 0 ? 0.5 : 2));
      }
    }
    d.fill(0xff);
  };
  library.gemm(nullptr, problem, operands);
  check();
  library.plan(problem).run(nullptr, operands);
  check();
  tilesmith_library* opened = nullptr;
  REQUIRE(tilesmith_open(nullptr, 0, &opened) == TILESMITH_OK);
  tilesmith_problem weighted = TILESMITH_PROBLEM_OF("f16f32f16", "NT", m, n, k);
  std::strcpy(weighted.weights, "s4_column");
  tilesmith_run run = {sizeof run, nullptr, {a_there.data(), w.data(), nullptr, d.data()}};
  CHECK(tilesmith_gemm(opened, nullptr, &weighted, &run) == TILESMITH_BAD_ARGUMENT);  // scales are missing
  run.operands[TILESMITH_WEIGHT_SCALES] = s.data();
  INFO(tilesmith_last_error());
  REQUIRE(tilesmith_gemm(opened, nullptr, &weighted, &run) == TILESMITH_OK);
  check();
  tilesmith_close(opened);
}

}  // namespace tilesmith::test_weights
