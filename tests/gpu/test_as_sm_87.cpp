// The code an Orin runs, proven on whatever later device is here: `--as sm_87`.
#include <atomic>
#include <map>

#include "db/store/store.hpp"
#include "runtime/driver/device.hpp"
#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/gpu/drill_family.hpp"
#include "tests/gpu/family_sample.hpp"
#include "tuner/loop/tune.hpp"
#include "tuner/workers/device_evaluator.hpp"
#include "tuner/workers/verify_all.hpp"

namespace tilesmith::test_as_sm_87 {

namespace {

test::Signatures signatures_of(const std::vector<std::vector<const char*>>& texts) {
  test::Signatures all;
  for (const auto& together : texts) {
    auto& of_type = all.emplace_back();
    for (const char* text : together) of_type.push_back(test::signature_of(text));
  }
  return all;
}

/// sm_87; on an older device, which cannot run that, its own architecture's virtual one.
std::string arch_to_run_as() {
  const DeviceLimits limits = runtime::device_info(0).limits;
  return limits.sm >= 87 ? "sm_87" : limits.arch;
}

}  // namespace

TEST_CASE("a sample of every family passes the suite as sm_87, for every type pair and transposes", "[as]") {
  const std::string arch = arch_to_run_as();
  const runtime::Context context(0, arch);
  const DeviceLimits& limits = context.info().limits;
  REQUIRE(limits.arch == "compute_" + arch.substr(3));
  REQUIRE(limits.smem_per_block_bytes <= limits_for_arch(arch)->smem_per_block_bytes);

  test::verify_sample(context, 7, 35);
}

TEST_CASE(
    "a sample of sparse operands, weights and operands below a byte passes the suite as sm_87", "[as][as_coded]") {
  const runtime::Context context(0, arch_to_run_as());
  test::verify_sample(context, 3, 20,
      signatures_of({{"f16f32 NN sparsity=a_2to4", "f16f32 TT sparsity=b_2to4"},
          {"bf16f32bf16 NT sparsity=a_2to4", "bf16f32bf16 NT epilogue=bias_n+gelu sparsity=b_2to4"},
          {"tf32f32 NT sparsity=a_2to4", "tf32f32 TT sparsity=b_2to4"},
          {"s8s32 NT sparsity=a_2to4", "s8s32 TT sparsity=b_2to4"},
          {"f16f32f16 NT weights=s4_g128", "f16f32f16 NT weights=q4_k", "f16f32f16 NT weights=q6_k",
              "f16f32f16 TT weights=u4_g64+zeros"},
          {"bf16f32bf16 NT weights=s8_column", "bf16f32bf16 NT weights=e4m3_g32"},
          {"s8s32f16 NT epilogue=scale_m weights=s4_g128", "s8s32f16 NT epilogue=scale_m+swiglu weights=u4_g64+zeros"},
          {"s8s32bf16 NT epilogue=scale_m_1x128+scale_n_128x128",
              "s8s32bf16 NN epilogue=scale_m_128x128+scale_n_1x128+bias_n+silu",
              "s8s32bf16 NT epilogue=scale_m_1x128+scale_n_128x128 batch_mode=grouped"},
          {"s8s32f16 TT epilogue=scale_m_1x128+scale_n_1x128"}, {"s4s32 NT", "s4s32 NN"}, {"u4s32 TN"},
          {"b1s32 NT", "b1s32 TT"}, {"b1xors32 NT"}}));
}

TEST_CASE("a sample of 8-bit floats passes the suite as sm_89, whose tensor cores multiply them without wgmma",
    "[as][as_sm_89]") {
  if (runtime::device_info(0).limits.sm < 89) {
    WARN("not run: an older device than Ada");
    return;
  }
  const runtime::Context context(0, "sm_89");
  test::verify_sample(context, 4, 20,
      signatures_of({{"e4m3f32 NN", "e4m3f32 NT", "e4m3f32 TN", "e4m3f32 TT"},
          {"e5m2f32bf16 NT epilogue=scale_m1+scale_n1", "e5m2f32bf16 NN epilogue=bias_n+gelu"}, {"e4m3f32e4m3 NT"},
          {"e4m3f32bf16 NT epilogue=scale_m_1x128+scale_n_128x128",
              "e4m3f32bf16 NT epilogue=scale_m_1x128+scale_n_1x128+bias_n+silu",
              "e4m3f32bf16 NN epilogue=scale_m_128x128+scale_n_1x128 batch_mode=strided",
              "e4m3f32bf16 NT epilogue=scale_m_1x128+scale_n_128x128 batch_mode=grouped"},
          {"e5m2f32f16 TT epilogue=scale_m_1x128+scale_n_128x128"},
          {"e4m3f32 NN sparsity=a_2to4", "e4m3f32 NT sparsity=a_2to4", "e4m3f32 NT sparsity=b_2to4"},
          {"e5m2f32 NT sparsity=a_2to4", "e5m2f32 TT sparsity=b_2to4"}}));
}

TEST_CASE("verifying many kernels, as sm_87 too, tells each one's fault and goes on", "[as]") {
  const test::DrillEnabled drill;
  const std::string as = GENERATE(std::string(), arch_to_run_as());
  const runtime::Context context(0, as);
  const KernelTarget target{{*find_type_pair("f64f64"), {}}, context.info().limits};
  const std::map<std::string, db::Status> expected{
      {test::drill_config(test::kDrillCompileError).text(), db::Status::compile_failed},
      {test::drill_config(test::kDrillTooBig).text(), db::Status::launch_failed},
      {test::drill_config(test::kDrillWrong).text(), db::Status::mismatch},
      {test::drill_config(test::kDrillOk).text(), db::Status::ok}, {"nothing{}", db::Status::illegal}};
  std::map<std::string, db::Outcome> outcomes;
  auto next = expected.begin();
  const std::atomic<bool> stop{false};
  tuner::verify_all(
      context,
      [&]() -> std::optional<tuner::CompileJob> {
        if (next == expected.end()) return std::nullopt;
        return tuner::CompileJob{*Config::parse((next++)->first), target};
      },
      2, [&](const tuner::CompileJob& job, const db::Outcome& outcome) { outcomes[job.config.text()] = outcome; },
      stop);
  REQUIRE(outcomes.size() == expected.size());
  for (const auto& [config, status] : expected) {
    INFO(config << ": " << outcomes.at(config).message);
    CHECK(db::name(outcomes.at(config).status) == db::name(status));
  }
}

TEST_CASE("a device tuned as sm_87 keeps records that it never takes for its own", "[as]") {
  db::Store store = db::Store::in_memory();
  tuner::DeviceEvaluatorOptions device;
  device.as = arch_to_run_as();
  device.compile_processes = 4;
  const tuner::Workload workload{"as", {{packed_problem({*find_type_pair("f16f32"), {}}, 512, 384, 256), 1}}};
  const std::atomic<bool> stop{false};
  tuner::TuneOptions options;
  options.families = {"simt"};
  options.max_candidates = 4;
  options.finalists = 2;
  const auto as = tuner::make_device_evaluator(store, device);
  const tuner::TuneResult result = tuner::tune(workload, options, *as, store, {}, stop);
  CHECK(result.evaluated == 4);
  CHECK(result.failed == 0);

  db::RecordFilter filter;
  filter.device_exactly = as->device();
  REQUIRE(db::test::bests_of(store, filter).size() == 1);
  CHECK(db::test::bests_of(store, filter).front().record.environment.compiler_options.find("compute_") !=
        std::string::npos);

  device.as.clear();
  const auto itself = tuner::make_device_evaluator(store, device);
  filter.device_exactly = itself->device();
  CHECK(db::test::bests_of(store, filter).empty());
  CHECK(tuner::tune(workload, options, *itself, store, {}, stop).reused == 0);
  REQUIRE(db::test::bests_of(store, filter).size() == 1);
  CHECK(db::test::bests_of(store).size() == 2);
}

}  // namespace tilesmith::test_as_sm_87
