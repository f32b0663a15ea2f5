// Weights of experts on a device: a sample of the families, tuned problems, the repacking, and the library.
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/problem/group_ends.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/interface/gemm.hpp"
#include "runtime/interface/tilesmith_weights.h"
#include "tests/catch.hpp"
#include "tests/gpu/family_sample.hpp"
#include "tests/gpu/planted_expert_bugs.hpp"
#include "tests/gpu/weights_arrays.hpp"
#include "tuner/verify/number_formats.hpp"
#include "tuner/verify/verifier.hpp"

namespace tilesmith::test_experts {
using namespace tilesmith::test;

TEST_CASE("a sample of every family passes the suite with weights of experts, and of gates", "[gpu][experts]") {
  const runtime::Context context(0);
  Signatures signatures;
  for (const auto& together : std::vector<std::vector<const char*>>{
           {"f16f32f16 NT batch_mode=grouped weights=s4_g128",
               "f16f32f16 NT batch_mode=grouped weights=s8_column+zeros+f32",
               "f16f32f16 NT epilogue=swiglu weights=u4_g64+zeros",
               "f16f32f16 NT epilogue=bias_n+swiglu_interleaved batch_mode=grouped weights=e4m3_g32"},
           {"bf16f32bf16 NT batch_mode=grouped weights=u4_g64+zeros", "bf16f32bf16 NT batch_mode=grouped weights=q4_k",
               "bf16f32bf16 NT batch_mode=grouped weights=q6_k",
               "bf16f32bf16 NT epilogue=scale_m+bias_n+silu batch_mode=grouped weights=s4_g32",
               "bf16f32bf16 NT epilogue=swiglu batch_mode=grouped weights=s4_g128",
               "bf16f32bf16 NT epilogue=swiglu_interleaved weights=s4_g128",
               "bf16f32bf16 NT epilogue=bias_n+swiglu batch_mode=grouped weights=e2m1_g32"}}) {
    auto& of_type = signatures.emplace_back();
    for (const char* signature : together) of_type.push_back(signature_of(signature));
  }
  verify_sample(context, 12, std::numeric_limits<double>::infinity(), signatures);
}

TEST_CASE("tuned problems of experts are proven, and codes of the expert before show", "[gpu][experts]") {
  const runtime::Context context(0);
  tuner::Verifier verifier(context);
  for (const char* text : {"bf16f32bf16 NT 64 768 2048 batch=128 batch_mode=grouped weights=s4_g128",
           "f16f32f16 NT 333 180 640 beta=any batch=7 batch_mode=grouped weights=u4_g64+zeros",
           "f16f32f16 NT 64 768 2048 batch=9 batch_mode=grouped weights=q4_k",
           "f16f32f16 NT 64 768 2048 batch=9 batch_mode=grouped weights=q6_k",
           "bf16f32bf16 NT 40 1024 4096 epilogue=swiglu batch=5 batch_mode=grouped weights=s4_g32"}) {
    std::string error;
    const Problem problem = parse_problem(text, error).value();
    const KernelTarget target{problem, context.info().limits};
    const planted::Bug bug = planted::expert_bugs().at(0);
    for (const char* family : {"simt", "dequant"}) {
      const Config config = family == std::string("simt") ? generic_config(target)
                                                          : find_family(family)->initial_configs(target, problem).at(0);
      const auto outcome_of = [&](const std::string& source) {
        const runtime::SourceBuild built =
            runtime::compile_source(source, "experts.cu", "gemm", runtime::compiler_options(target));
        INFO(built.log);
        REQUIRE(built.ok);
        return verifier.on_problem(
            runtime::Plan(std::make_shared<const runtime::Module>(built.cubin), config, problem));
      };
      const db::Outcome right = outcome_of(find_family(family)->source(config, target));
      INFO(text << " " << config.text() << ": " << right.message);
      CHECK(right.status == db::Status::ok);
      std::vector<std::string> seen;
      std::string wrong = planted::spliced(find_family(family)->source(config, target), seen);
      const std::size_t at = wrong.find(bug.edits[0].find);
      REQUIRE(at != std::string::npos);
      wrong.replace(at, std::string(bug.edits[0].find).size(), bug.edits[0].replace);
      CHECK(outcome_of(wrong).status == db::Status::mismatch);
    }
  }
}

TEST_CASE("the library multiplies groups of rows by the weights of experts, repacked on the device, in C and C++",
    "[gpu][experts]") {
  const runtime::Context context(0);
  LibraryOptions quiet;
  quiet.log_misses = false;
  const Library library = Library::without_database(quiet);
  const std::int64_t m = 37, n = 50, k = 128, experts = 6;
  std::vector<signed char> codes;
  std::vector<std::uint16_t> a, scales;
  for (std::int64_t i = 0; i < experts * n * k; ++i) codes.push_back((signed char)(i * 7 % 15 - 7 - (i / (n * k)) % 2));
  for (std::int64_t i = 0; i < m * k; ++i) a.push_back(tuner::to_f16(float(int(i * 5 % 7) - 3)));
  const auto scale = [](std::int64_t expert, std::int64_t j) {
    return (j % 2 == 0 ? 0.5F : 2.0F) * float(1 + expert % 3);
  };
  for (std::int64_t i = 0; i < experts * n; ++i) scales.push_back(tuner::to_f16(scale(i / n, i % n)));
  const std::vector<std::int32_t> ends{5, 5, 6, 20, 30, 33};
  const runtime::DeviceBuffer codes_there = values_on_device(codes), scales_there = values_on_device(scales),
                              a_there = values_on_device(a), ends_there = values_on_device(ends);
  tilesmith_weights made;
  REQUIRE(tilesmith_weights_init(&made, "s4", n, k, 0, "f16", 0) == TILESMITH_OK);
  made.experts = int(experts);
  tilesmith_weights_sizes sizes;
  REQUIRE(tilesmith_weights_bytes(&made, &sizes) == TILESMITH_OK);
  tilesmith_weights_source from;
  REQUIRE(tilesmith_weights_source_init(&from, TILESMITH_WEIGHTS_BYTES) == TILESMITH_OK);
  from.codes = array_of(codes_there.data(), experts * n, k, "s8");
  from.scales = array_of(scales_there.data(), experts, n, "f16");
  runtime::DeviceBuffer w(sizes.codes), s(sizes.scales), d(std::size_t(m * n * 2));
  library.repack_weights(nullptr, made, from, w.data(), s.data(), nullptr);
  KernelSignature signature{*find_type_pair("f16f32f16"), {false, true}};
  signature.weights = *parse_weights("s4_column");
  const Problem problem = grouped(packed_problem(signature, m, n, k), experts);
  Operands operands{1, a_there.data(), w.data(), 0, nullptr, d.data()};
  operands.weight_scales = s.data();
  operands.offsets = ends_there.data();
  d.fill(0xff);
  const auto check = [&] {
    context.synchronize();
    const std::vector<unsigned char> raw = bytes_from_device(d, std::size_t(m * n * 2));
    const std::vector<GroupRows> groups = rows_of_groups(ends, m);
    for (std::int64_t i = 0; i < m; ++i) {
      std::size_t g = 0;
      while (g < groups.size() && i >= groups[g].end) ++g;
      for (std::int64_t j = 0; j < n; ++j) {
        std::uint16_t bits;
        std::memcpy(&bits, raw.data() + (i * n + j) * 2, 2);
        if (g == groups.size()) {
          REQUIRE(bits == 0xffff);
          continue;
        }
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += tuner::from_f16(a[std::size_t(i * k + l)]) * codes[std::size_t((std::int64_t(g) * n + j) * k + l)];
        REQUIRE(tuner::from_f16(bits) == tuner::from_f16(tuner::to_f16(float(sum * scale(std::int64_t(g), j)))));
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
  weighted.batch_mode = TILESMITH_GROUPED;
  weighted.batch = experts;
  tilesmith_run run = {sizeof run, nullptr, {a_there.data(), w.data(), nullptr, d.data()}};
  run.operands[TILESMITH_WEIGHT_SCALES] = s.data();
  run.operands[TILESMITH_OFFSETS] = ends_there.data();
  REQUIRE(tilesmith_gemm(opened, nullptr, &weighted, &run) == TILESMITH_OK);
  INFO(tilesmith_last_error());
  check();
  tilesmith_close(opened);
}

}  // namespace tilesmith::test_experts
