// Launches that come while the kernel before still ends (`early_launch`), in a stream and in a graph: they must wait
// for its results.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/driver/driver.hpp"
#include "runtime/driver/shared_library.hpp"
#include "runtime/plan/plan.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device_problem.hpp"
#include "tests/gpu/early_plan.hpp"
#include "tuner/measure/helper_kernels.hpp"

namespace tilesmith::test_early_launch {

namespace {

// Lets the launch after it come at once, and writes three buffers so many nanoseconds later: a launch that does not
// wait finds, or leaves, something else there.
constexpr const char* kLateSource = R"(
struct Copies {
  unsigned char* to[3];
  const unsigned char* from[3];
  unsigned long long bytes[3];
};

extern "C" __global__ void copy_late(const Copies copies, unsigned long long ns) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < ns);
  for (int i = 0; i < 3; ++i) {
    for (unsigned long long b = threadIdx.x; b < copies.bytes[i]; b += blockDim.x) copies.to[i][b] = copies.from[i][b];
  }
}
)";

struct Copies {
  std::byte* to[3];
  const std::byte* from[3];
  unsigned long long bytes[3];
};

constexpr unsigned long long kAtOnce = 0, kLate = 5'000'000;  // ns; what is launched behind it is there long before

/// A way through the launches of a plan.
struct Case {
  const char* config;
  std::int64_t m, n, k;
};

#define TILESMITH_WGMMA(split_k, reduction, pack)                                                                      \
  "wgmma{block_m=64,block_n=64,block_k=64,stages=3,warpgroups=1,schedule=0,even=0,stagger=0,cluster_m=1,cluster_n=1,"  \
  "min_blocks=1,group_m=1,store_staged=0,store_tma=0,swap=0,split_k=" #split_k ",reduction=" #reduction ",pack=" #pack \
  ",early_launch=1}"
#define TILESMITH_MMA(split_k, reduction, pack, overlap)                                                                      \
  "mma{inst_k=16,block_m=64,block_n=64,warp_m=32,warp_n=32,swap=0,block_k=32,stages=3,slice_k=1,frag_buffers=2,min_blocks=1," \
  "group_m=1,persistent=0,store_staged=0,split_k=" #split_k ",reduction=" #reduction                                          \
  ",copy_bytes=16,tma=0,pack=" #pack ",pack_k_major=0,overlap=" #overlap ",early_launch=1}"
#define TILESMITH_GEMV(split_k, overlap)                                          \
  "gemv{matrix=1,shifted=0,threads=128,lanes=8,rows=1,unroll=4,split_k=" #split_k \
  ",cluster=0,prefetch_bytes=0,overlap=" #overlap ",early_launch=1}"

constexpr Case kCases[] = {
    {TILESMITH_WGMMA(1, 0, 0), 200, 136, 264},  // gemm
    {TILESMITH_WGMMA(1, 0, 3), 200, 136, 264},  // pack, gemm
    {TILESMITH_WGMMA(2, 0, 0), 200, 136, 264},  // gemm, sum_slices
    {TILESMITH_WGMMA(2, 1, 0), 200, 136, 264},  // scale_c, gemm
    {TILESMITH_MMA(1, 0, 0, 0), 200, 136, 264}, {TILESMITH_MMA(1, 0, 3, 1), 200, 136, 264},
    {TILESMITH_MMA(2, 0, 0, 1), 200, 136, 264}, {TILESMITH_MMA(2, 1, 0, 1), 200, 136, 264},
    {TILESMITH_GEMV(1, 0), 1, 264, 520},  // gemm
    {TILESMITH_GEMV(2, 1), 1, 264, 520},  // gemm, sum_slices
};
constexpr const char* kSlow = TILESMITH_MMA(1, 0, 0, 0);  // with a K that is long
#undef TILESMITH_WGMMA
#undef TILESMITH_MMA
#undef TILESMITH_GEMV

/// What a stream waits for besides kernels; the library itself has no use for these calls.
class OtherWork {
 public:
  OtherWork() : libcuda_(runtime::SharedLibrary::open("libcuda.so.1", error_)) {
    INFO(error_);
    REQUIRE(libcuda_);
    REQUIRE((copy_ = reinterpret_cast<Copy>(libcuda_.symbol("cuMemcpyDtoDAsync_v2"))) != nullptr);
    REQUIRE((wait_ = reinterpret_cast<Wait>(libcuda_.symbol("cuStreamWaitEvent"))) != nullptr);
    REQUIRE(driver_.event_create(&event_, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
  }
  ~OtherWork() { driver_.event_destroy(event_); }
  OtherWork(const OtherWork&) = delete;
  OtherWork& operator=(const OtherWork&) = delete;

  void copy(const Copies& copies, const runtime::Stream& stream) const {
    const auto address = [](const void* pointer) { return CUdeviceptr(reinterpret_cast<std::uintptr_t>(pointer)); };
    for (int i = 0; i < 3; ++i)
      REQUIRE(copy_(address(copies.to[i]), address(copies.from[i]), copies.bytes[i], stream.get()) == CUDA_SUCCESS);
  }
  /// `stream` goes on when all is done that `other` has been given.
  void wait_for(const runtime::Stream& other, const runtime::Stream& stream) const {
    REQUIRE(driver_.event_record(event_, other.get()) == CUDA_SUCCESS);
    REQUIRE(wait_(stream.get(), event_, 0) == CUDA_SUCCESS);
  }

 private:
  using Copy = CUresult (*)(CUdeviceptr, CUdeviceptr, std::size_t, CUstream);
  using Wait = CUresult (*)(CUstream, CUevent, unsigned);

  std::string error_;
  runtime::SharedLibrary libcuda_;
  const runtime::Driver& driver_ = runtime::driver();
  Copy copy_ = nullptr;
  Wait wait_ = nullptr;
  CUevent event_ = nullptr;
};

/// How far C ← A·B + C is off, in each place that it was tried in.
struct Errors {
  std::vector<double> behind_kernels;
  // Where between a kernel that lets what comes behind it come, and the launch, stands what is no kernel. It is the
  // driver that holds the launch back there, whether it waits or not.
  std::vector<double> behind_others;
};

class Bench {
 public:
  Bench() : late_(tuner::load_helper(context_, kLateSource, "copy_late")), copy_late_(late_.function("copy_late", 0)) {}

  /// Behind a kernel that writes A, B and C late; behind a plan that comes early behind that kernel, takes long and
  /// makes C zeros; behind such a plan in a graph. Behind copies that follow a kernel which spoils late; behind another
  /// stream that writes A, B and C late. `edits`: what of the template to change.
  Errors errors(const Case& one, const std::vector<planted::Edit>& edits) {
    Problem problem = packed_problem({*find_type_pair("f16f32"), {}}, one.m, one.n, one.k);
    problem.beta = BetaClass::any;
    const runtime::Plan plan = plan_of(one.config, problem, edits);
    const Problem long_problem = packed_problem({problem.type, {}}, one.m, one.n, kLongK);
    const runtime::Plan slow = plan_of(kSlow, long_problem, {});
    runtime::DeviceBuffer zeros(std::size_t(std::max(one.m, one.n) * kLongK * 2));
    zeros.fill(0);
    const runtime::DeviceBuffer workspace(plan.workspace_bytes() > 0 ? plan.workspace_bytes() : 16);

    test::DeviceProblem data(problem);
    std::byte* const there[3] = {static_cast<std::byte*>(const_cast<void*>(data.a())),
        static_cast<std::byte*>(const_cast<void*>(data.b())), static_cast<std::byte*>(data.c())};
    const std::size_t bytes[3] = {std::size_t(problem.a_rows() * problem.lda * 2),
        std::size_t(problem.b_rows() * problem.ldb * 2), std::size_t(problem.m * problem.ldc * 4)};
    runtime::DeviceBuffer right[3], wrong[3];
    Copies keep{}, spoil{}, restore{};
    for (int i = 0; i < 3; ++i) {
      right[i] = runtime::DeviceBuffer(bytes[i]);
      wrong[i] = runtime::DeviceBuffer(bytes[i]);
      wrong[i].fill(0);
      keep.to[i] = right[i].data();
      keep.from[i] = spoil.to[i] = restore.to[i] = there[i];
      spoil.from[i] = wrong[i].data();
      restore.from[i] = right[i].data();
      keep.bytes[i] = spoil.bytes[i] = restore.bytes[i] = bytes[i];
    }
    copy(keep, kAtOnce);
    const auto run = [&](const runtime::Plan& one_plan, const void* a, const void* b, double beta) {
      runtime::RunArgs args;
      args.set(OperandRole::a, a);
      args.set(OperandRole::b, b);
      args.matrices[OperandRole::d] = data.c();
      args.alpha = runtime::to_scale(problem.type, 1);
      args.beta = runtime::to_scale(problem.type, beta);
      args.workspace = one_plan.workspace_bytes() > 0 ? workspace.data() : nullptr;
      args.stream = stream_.get();
      args.early_in_graphs = true;
      REQUIRE(one_plan.run(args) == 0);
    };
    const auto behind_kernel = [&] {
      copy(restore, kLate);
      run(plan, data.a(), data.b(), 1);
    };
    const auto behind_plan = [&] {
      copy(restore, kLate);
      run(slow, zeros.data(), zeros.data(), 0);
      run(plan, data.a(), data.b(), 1);
    };
    const runtime::Graph graph = runtime::Graph::capture(stream_, behind_plan);
    const auto error_of = [&](const auto& enqueue, double beta) {
      copy(spoil, kAtOnce);
      stream_.synchronize();
      enqueue();
      stream_.synchronize();
      return data.max_error(1, beta);
    };
    const auto behind_copies = [&] {
      copy(spoil, kLate);
      other_work_.copy(restore, stream_);
      run(plan, data.a(), data.b(), 1);
    };
    const auto behind_other_stream = [&] {
      copy(restore, kLate, other_stream_);
      copy(spoil, kAtOnce);
      other_work_.wait_for(other_stream_, stream_);
      run(plan, data.a(), data.b(), 1);
    };
    return {{error_of(behind_kernel, 1), error_of(behind_plan, 0), error_of([&] { graph.launch(stream_); }, 0)},
        {error_of(behind_copies, 1), error_of(behind_other_stream, 1)}};
  }

 private:
  static constexpr std::int64_t kLongK = 1 << 17;

  runtime::Plan plan_of(const char* text, const Problem& problem, const std::vector<planted::Edit>& edits) {
    return test::early_plan(context_, text, problem, edits);
  }

  void copy(Copies copies, unsigned long long ns) { copy(copies, ns, stream_); }
  void copy(Copies copies, unsigned long long ns, const runtime::Stream& stream) {
    void* parameters[] = {&copies, &ns};
    const unsigned grid[3] = {1, 1, 1}, block[3] = {256, 1, 1};
    runtime::launch(copy_late_, grid, block, 0, stream, parameters);
  }

  runtime::Context context_{0};
  runtime::Stream stream_, other_stream_;
  OtherWork other_work_;
  runtime::Module late_;
  CUfunc_st* copy_late_;
};

}  // namespace

TEST_CASE("launches that come early wait for what the stream did before, and are seen not to where they do not") {
  const DeviceLimits limits = runtime::device_info(0).limits;
  if (limits.sm < 90) {
    WARN("this device launches nothing early: nothing was verified");
    return;
  }
  Bench bench;
  for (const Case& one : kCases) {
    INFO(one.config);
    // Families for one device alone (wgmma) are left out on others; what the rest launches early is held to the same.
    if (!find_family(Config::parse(one.config)->family())->supports({{*find_type_pair("f16f32"), {}}, limits}))
      continue;
    const Errors waiting = bench.errors(one, {}), hasty = bench.errors(one, {test::kNoWait, test::kNoWait});
    for (const double error : waiting.behind_kernels) CHECK(error == 0);
    for (const double error : waiting.behind_others) CHECK(error == 0);
    for (const double error : hasty.behind_kernels) CHECK_FALSE(error == 0);
  }
}

}  // namespace tilesmith::test_early_launch
