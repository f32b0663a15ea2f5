// α and β in device memory: a sample of every family, and what the library makes of them.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/driver/device.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/interface/gemm.hpp"
#include "runtime/interface/tilesmith.h"
#include "tests/catch.hpp"
#include "tests/gpu/device_problem.hpp"
#include "tests/gpu/early_plan.hpp"
#include "tests/gpu/family_sample.hpp"
#include "tests/gpu/small_store.hpp"
#include "tuner/measure/helper_kernels.hpp"

namespace tilesmith::test_device_scalars {
using namespace tilesmith::test;

namespace {

/// α, and β behind it, of the scale type.
class DeviceScalars {
 public:
  explicit DeviceScalars(Scalar type) : type_(type), memory_(16) {}
  void give(int alpha, int beta) {
    std::byte raw[16] = {};
    store_integer(type_, raw, alpha);
    store_integer(type_, raw + size_bytes(type_), beta);
    memory_.upload(raw);
  }
  const void* alpha() const { return memory_.data(); }
  const void* beta() const { return memory_.data() + size_bytes(type_); }

 private:
  Scalar type_;
  runtime::DeviceBuffer memory_;
};

Library library_for_scalars() {
  LibraryOptions quiet;
  quiet.log_misses = false;
  return Library::without_database(quiet);
}

// Lets the launch after it come at once, and writes two words so many nanoseconds later.
constexpr const char* kLateScalars = R"(
extern "C" __global__ void write_late(unsigned* to, unsigned first, unsigned second, unsigned long long ns) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < ns);
  to[0] = first;
  to[1] = second;
}
)";

}  // namespace

TEST_CASE("a sample of every family passes the suite with scalars in device memory", "[gpu][scalars]") {
  const runtime::Context context(0);
  Signatures signatures;
  for (const auto& together : std::vector<std::vector<const char*>>{
           {"f16f32 NN scalars=device", "f16f32 NT epilogue=bias_m+relu scalars=device",
               "f16f32 TT batch_mode=strided scalars=device"},
           {"bf16f32bf16 NT scalars=device", "bf16f32bf16 NN epilogue=c_apart scalars=device",
               "bf16f32bf16 NT batch_mode=grouped scalars=device",
               "bf16f32bf16 NT epilogue=bias_n+swiglu scalars=device"},
           {"f16f16 TN scalars=device"}, {"tf32f32 NT scalars=device"},
           {"f64f64 NN scalars=device", "f64f64 TT epilogue=bias_n scalars=device"},
           {"f32f32 NN scalars=device", "f32f32 NT epilogue=scale_n+bias_n+silu scalars=device"},
           {"f32x3f32 NT scalars=device"}, {"s8s32 NT scalars=device"},
           {"s8s32bf16 NT epilogue=scale_m+scale_n scalars=device"},
           {"e4m3f32bf16 NT epilogue=scale_m1+scale_n1 scalars=device"}}) {
    auto& of_type = signatures.emplace_back();
    for (const char* text : together) of_type.push_back(signature_of(text));
  }
  verify_sample(context, 5, std::numeric_limits<double>::infinity(), signatures);
}

TEST_CASE("a graph that was captured once multiplies by the scalars that it finds when it is replayed",
    "[gpu][api][scalars]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  const Library library = library_for_scalars();
  // The first of each has C copied to D by a node of the graph, the other one reads it where it lies.
  for (const char* where :
      {"f16f32 NN 200 136 64 beta=any scalars=device", "f16f32 NN 200 136 64 beta=any epilogue=c_apart scalars=device",
          "bf16f32bf16 NT 128 256 16 beta=any epilogue=c_apart scalars=device",
          "f64f64 NN 50 33 17 beta=any scalars=device", "s8s32 NT 96 64 32 beta=any scalars=device",
          "f32f32 NN 64 96 128 beta=any scalars=device", "f16f32 NN 1 300 2000 beta=any scalars=device",
          "f16f32 TN 64 64 20000 beta=any scalars=device"}) {
    INFO(where);
    const Problem problem = problem_of(where);
    DeviceProblem held(problem), result(problem);
    DeviceScalars scalars(problem.type.scale);
    Operands operands;
    operands.a = result.a();
    operands.b = result.b();
    operands.c = held.c();
    operands.d = result.c();
    operands.device_alpha = scalars.alpha();
    operands.device_beta = scalars.beta();
    scalars.give(1, 0);
    library.prepare(stream.get(), problem);
    const runtime::Graph graph =
        runtime::Graph::capture(stream, [&] { library.gemm(stream.get(), problem, operands); });
    for (const auto& [alpha, beta] : {std::pair{1, 0}, {2, 3}, {0, 1}, {-1, 2}, {0, 0}, {1, -1}}) {
      INFO("alpha " << alpha << ", beta " << beta);
      scalars.give(alpha, beta);
      result.poison_c();
      graph.launch(stream);
      stream.synchronize();
      CHECK(result.max_error(alpha, beta) == 0);
    }
    held.poison_c();  // no number; of integers a wrong one
    for (const auto& [alpha, beta] : {std::pair{2, 0}, {0, 0}}) {
      INFO("alpha " << alpha << ", beta 0, C is no number");
      scalars.give(alpha, beta);
      result.poison_c();
      graph.launch(stream);
      stream.synchronize();
      CHECK(result.max_error(alpha, 0) == 0);
    }
  }
}

TEST_CASE(
    "where α on the device is 0 nothing becomes of operands that are no numbers, in place too", "[gpu][api][scalars]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  const Library library = library_for_scalars();
  for (const char* where : {"f16f32 NN 200 136 64 beta=any scalars=device",
           "bf16f32bf16 NT 130 256 64 beta=any epilogue=relu scalars=device",
           "f64f64 NN 50 33 17 beta=any scalars=device", "f16f32 NN 1 300 2000 beta=any scalars=device",
           "tf32f32 NT 64 64 20000 beta=any scalars=device"}) {
    INFO(where);
    const Problem problem = problem_of(where);
    DeviceProblem data(problem);
    DeviceScalars scalars(problem.type.scale);
    runtime::DeviceBuffer nan_a(std::size_t(problem.a_bytes())), nan_b(std::size_t(problem.b_bytes()));
    nan_a.fill(0xFF);
    nan_b.fill(0xFF);
    Operands operands;
    operands.a = nan_a.data();
    operands.b = nan_b.data();
    operands.c = operands.d = data.c();
    operands.device_alpha = scalars.alpha();
    operands.device_beta = scalars.beta();
    scalars.give(0, 2);
    library.gemm(stream.get(), problem, operands);
    stream.synchronize();
    CHECK(data.max_error(0, 2) == 0);
    scalars.give(0, 0);
    data.poison_c();
    library.gemm(stream.get(), problem, operands);
    stream.synchronize();
    CHECK(data.max_error(0, 0) == 0);
  }
}

TEST_CASE("scalars that the kernel before writes late are waited for by launches that come early", "[gpu][scalars]") {
  const runtime::Context context(0);
  if (context.info().limits.sm < 90) {
    WARN("this device launches nothing early: nothing was verified");
    return;
  }
  const runtime::Stream stream;
  const runtime::Module module = tuner::load_helper(context, kLateScalars, "write_late");
  CUfunc_st* const write_late = module.function("write_late", 0);
#define TILESMITH_WGMMA(split_k, reduction, pack)                                                                      \
  "wgmma{block_m=64,block_n=64,block_k=64,stages=3,warpgroups=1,schedule=0,even=0,stagger=0,cluster_m=1,cluster_n=1,"  \
  "min_blocks=1,group_m=1,store_staged=0,store_tma=0,swap=0,split_k=" #split_k ",reduction=" #reduction ",pack=" #pack \
  ",early_launch=1}"
#define TILESMITH_MMA(split_k, reduction, overlap)                                                                            \
  "mma{inst_k=16,block_m=64,block_n=64,warp_m=32,warp_n=32,swap=0,block_k=32,stages=3,slice_k=1,frag_buffers=2,min_blocks=1," \
  "group_m=1,persistent=0,store_staged=0,split_k=" #split_k ",reduction=" #reduction                                          \
  ",copy_bytes=16,tma=0,pack=0"                                                                                               \
  ",pack_k_major=0,overlap=" #overlap ",early_launch=1}"
  const std::pair<const char*, const char*> cases[] = {{TILESMITH_WGMMA(1, 0, 0), "f16f32 NN 200 136 264"},
      {TILESMITH_WGMMA(2, 0, 0), "f16f32 NN 200 136 264"}, {TILESMITH_WGMMA(2, 1, 0), "f16f32 NN 200 136 264"},
      {TILESMITH_WGMMA(1, 0, 3), "f16f32 NN 200 136 264"}, {TILESMITH_MMA(1, 0, 0), "f16f32 NN 200 136 264"},
      {TILESMITH_MMA(2, 0, 1), "f16f32 NN 200 136 264"}, {TILESMITH_MMA(2, 1, 1), "f16f32 NN 200 136 264"},
      {"gemv{matrix=1,shifted=0,threads=128,lanes=8,rows=1,unroll=4,split_k=2,cluster=0,prefetch_bytes=0,overlap=1,early_launch=1}",
          "f16f32 NN 1 264 520"}};
#undef TILESMITH_WGMMA
#undef TILESMITH_MMA
  runtime::DeviceBuffer words(8);
  const auto word_of = [](float value) {
    std::uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    return word;
  };
  for (const auto& [config, where] : cases) {
    INFO(config);
    const Problem problem = problem_of(std::string(where) + " beta=any scalars=device");
    if (!find_family(Config::parse(config)->family())->supports({problem, context.info().limits})) continue;
    for (const bool waits : {true, false}) {
      const runtime::Plan plan =
          waits ? early_plan(context, config, problem, {}) : early_plan(context, config, problem, {kNoWait, kNoWait});
      const runtime::DeviceBuffer workspace(std::max<std::size_t>(plan.workspace_bytes(), 16));
      DeviceProblem data(problem);
      const float old[2] = {1, 1};
      words.upload(std::as_bytes(std::span(old)));
      std::byte* to = words.data();
      std::uint32_t first = word_of(2), second = word_of(3);
      unsigned long long ns = 5'000'000;
      void* parameters[] = {&to, &first, &second, &ns};
      const unsigned one[3] = {1, 1, 1};
      runtime::launch(write_late, one, one, 0, stream, parameters);
      runtime::RunArgs args;
      args.set(OperandRole::a, data.a());
      args.set(OperandRole::b, data.b());
      args.set(OperandRole::d, data.c());
      args.set(OperandRole::alpha, words.data());
      args.set(OperandRole::beta, words.data() + 4);
      args.workspace = plan.workspace_bytes() > 0 ? workspace.data() : nullptr;
      args.stream = stream.get();
      REQUIRE(plan.run(args) == 0);
      stream.synchronize();
      CHECK((data.max_error(2, 3) == 0) == waits);
    }
  }
}

TEST_CASE("in C a problem takes scalars from device memory, and a beta that it promised to be 0 may be null",
    "[gpu][api][scalars]") {
  const runtime::Context context(0);
  const runtime::Stream stream;
  const Problem problem = problem_of("bf16f32bf16 NT 96 40 16 beta=any scalars=device");
  DeviceProblem data(problem);
  DeviceScalars scalars(problem.type.scale);
  tilesmith_library* library = nullptr;
  REQUIRE(tilesmith_open(nullptr, 0, &library) == TILESMITH_OK);
  tilesmith_problem in_c = TILESMITH_PROBLEM_OF("bf16f32bf16", "NT", 96, 40, 16);
  in_c.scalars_on_device = 1;
  in_c.beta_is_zero = 0;
  scalars.give(2, 3);
  tilesmith_run run = {sizeof run, nullptr, {data.a(), data.b(), nullptr, data.c()}};
  run.operands[TILESMITH_ALPHA] = scalars.alpha();
  run.operands[TILESMITH_BETA] = scalars.beta();
  CHECK(tilesmith_gemm(library, stream.get(), &in_c, &run) == TILESMITH_OK);
  stream.synchronize();
  CHECK(data.max_error(2, 3) == 0);
  in_c.beta_is_zero = 1;
  run.operands[TILESMITH_BETA] = nullptr;
  data.poison_c();
  CHECK(tilesmith_gemm(library, stream.get(), &in_c, &run) == TILESMITH_OK);
  stream.synchronize();
  CHECK(data.max_error(2, 0) == 0);
  tilesmith_close(library);
}

}  // namespace tilesmith::test_device_scalars
