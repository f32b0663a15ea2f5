// Launches that come early behind a kernel that rewrites their operands: what an SM's L1 held of these before must not
// be read.
//
// They read operands by ld.global.nc, for which PTX promises new values only where nobody writes while a kernel lives;
// one that came early lives while the kernel before it writes. That it has none of them in a register before
// griddepcontrol.wait is the template's doing. That none of them is in the L1 behind it is the device's, and seen here.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/driver/driver.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device_problem.hpp"
#include "tests/gpu/early_plan.hpp"
#include "tuner/measure/helper_kernels.hpp"

namespace tilesmith::test_early_operands {

namespace {

// Lets the launch behind it come to all SMs. Then every block, one an SM, reads all of the words, so that each L1 holds
// them; only when all have does each block write its share of the new ones. `stale` counts the old ones that are still
// there at the end.
constexpr const char* kRewriteSource = R"(
__device__ unsigned long long now_ns() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
__device__ unsigned through_l1(const unsigned* at) {
  unsigned word;
  asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(word) : "l"(at));
  return word;
}
__device__ unsigned past_l1(const unsigned* at) {
  unsigned word;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(word) : "l"(at));
  return word;
}

struct Rewrite {
  unsigned* words;
  const unsigned* fresh;
  unsigned count;
  unsigned* arrived;
  unsigned* stale;
};

extern "C" __global__ void __launch_bounds__(512) rewrite(const Rewrite r, unsigned long long come_ns) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  const unsigned long long start = now_ns();
  while (now_ns() - start < come_ns) {}
  unsigned sum = 0;
  for (unsigned i = threadIdx.x; i < r.count; i += blockDim.x) sum += through_l1(r.words + i);
  // The sum is looked at, so that the loads have ended. No fence: it would empty the L1.
  if (__syncthreads_or(sum == 0xFFFFFFFF) == 0 && threadIdx.x == 0) {
    unsigned arrived;
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(r.arrived));
    do {
      asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(arrived) : "l"(r.arrived));
    } while (arrived < gridDim.x && now_ns() - start < 1000000000);
  }
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < r.count; i += gridDim.x * blockDim.x) r.words[i] = past_l1(r.fresh + i);
  const unsigned long long written = now_ns();
  while (now_ns() - written < 20000) {}  // until all blocks have
  unsigned old = 0;  // of the last that were read first: they are there if any are
  for (unsigned i = r.count - 1 - threadIdx.x; i < r.count; i -= blockDim.x) old += through_l1(r.words + i) != past_l1(r.fresh + i);
  if (old > 0) atomicAdd(r.stale, old);
}
)";

struct Rewrite {
  std::byte* words;
  const std::byte* fresh;
  unsigned count;
  std::byte* arrived;
  std::byte* stale;
};

constexpr unsigned long long kCome = 200'000;  // ns; what is launched behind it is there long before
constexpr int kTimes = 200, kHastyTimes = 5;

struct Case {
  const char* problem;
  const char* config;
};

#define TILESMITH_GEMV(shifted, threads, split_k, overlap)                                            \
  "gemv{matrix=1,shifted=" #shifted ",threads=" #threads ",lanes=8,rows=1,unroll=4,split_k=" #split_k \
  ",cluster=0,prefetch_bytes=0,overlap=" #overlap ",early_launch=1}"
#define TILESMITH_MMA                                                                                                         \
  "mma{inst_k=16,block_m=64,block_n=64,warp_m=32,warp_n=32,swap=0,block_k=32,stages=3,slice_k=1,frag_buffers=2,min_blocks=1," \
  "group_m=1,persistent=0,store_staged=0,split_k=1,reduction=0,copy_bytes=16,tma=0,pack=3,pack_k_major=0,overlap=1,early_launch=1}"
#define TILESMITH_WGMMA                                                                                               \
  "wgmma{block_m=64,block_n=64,block_k=64,stages=3,warpgroups=1,schedule=0,even=0,stagger=0,cluster_m=1,cluster_n=1," \
  "min_blocks=1,group_m=1,store_staged=0,store_tma=0,swap=0,split_k=1,reduction=0,pack=3,early_launch=1}"

// Some operands fit what is left of an L1 where nearly all of it is shared memory, others (64 to 120 KiB) half of one.
constexpr Case kCases[] = {
    {"f16f32 NN 1 40 256", TILESMITH_GEMV(0, 128, 1, 0)},
    {"f16f32 NN 1 64 500", TILESMITH_GEMV(0, 128, 2, 1)},
    {"f16f32 NT 1 64 504", TILESMITH_GEMV(0, 128, 1, 0)},
    {"f16f32 NN 1 37 301", TILESMITH_GEMV(1, 256, 1, 0)},        // chunks that begin outside their row
    {"f16f32 TN 1 40 256 lda=3", TILESMITH_GEMV(0, 128, 1, 0)},  // the vector element by element
    {"f16f32 NN 33 67 101", TILESMITH_MMA},
    {"f16f32 NN 97 135 263", TILESMITH_MMA},
    {"f16f32 TT 97 135 263", TILESMITH_WGMMA},
};
#undef TILESMITH_GEMV
#undef TILESMITH_MMA
#undef TILESMITH_WGMMA

constexpr int kCarveouts[] = {
    CU_SHAREDMEM_CARVEOUT_MAX_SHARED, 58, CU_SHAREDMEM_CARVEOUT_MAX_L1};  // % of an SM's memory

/// A problem's operands in one piece of memory, and what C is with them.
struct Operands {
  std::vector<std::byte> words;
  std::vector<float> c;
};

class Bench {
 public:
  explicit Bench(const Case& one)
      : problem_(parsed(one.problem)),
        module_(tuner::load_helper(context_, kRewriteSource, "rewrite")),
        rewrite_(module_.function("rewrite", 0)),
        plan_(test::early_plan(context_, one.config, problem_, {})),
        hasty_(test::early_plan(context_, one.config, problem_, {test::kNoWait, test::kNoWait})),
        sets_{operands(0), operands(1)},
        words_(sets_[0].words.size()),
        fresh_{runtime::DeviceBuffer(words_.size()), runtime::DeviceBuffer(words_.size())},
        c_(sets_[0].c.size() * sizeof(float)),
        workspace_(std::max<std::size_t>(plan_.workspace_bytes(), 16)),
        arrived_(16),
        stale_(16) {
    for (int set : {0, 1}) fresh_[set].upload(sets_[set].words);
    words_.upload(sets_[1].words);
  }

  struct Seen {
    int wrong = 0;            ///< results that are not those of the new operands
    std::uint32_t stale = 0;  ///< old words that were left in L1s
  };
  Seen run(bool waits, int carveout, int times) {
    runtime::check(
        runtime::driver().func_set_attribute(rewrite_, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, carveout),
        "cuFuncSetAttribute");
    Seen seen;
    stale_.fill(0);
    for (int time = 0; time < times; ++time) {
      next_ = 1 - next_;
      arrived_.fill(0);
      launch_rewrite();
      launch(waits ? plan_ : hasty_);
      stream_.synchronize();
      std::vector<float> c(sets_[next_].c.size());
      c_.download(std::as_writable_bytes(std::span(c)));
      seen.wrong += c == sets_[next_].c ? 0 : 1;
    }
    stale_.download(std::as_writable_bytes(std::span(&seen.stale, 1)));
    return seen;
  }

 private:
  static Problem parsed(const char* text) {
    std::string error;
    const auto problem = parse_problem(text, error);
    INFO(error);
    REQUIRE(problem);
    return *problem;
  }

  std::size_t a_bytes() const { return std::size_t(problem_.a_rows() * problem_.lda * 2); }
  std::size_t b_at() const { return (a_bytes() + 255) / 256 * 256; }

  /// 0, 1 or 2; no element is the same in both sets.
  static int element(int set, std::int64_t index) { return int((index * 7 + index / 5 + set) % 3); }

  Operands operands(int set) const {
    Operands made;
    const std::size_t b_bytes = std::size_t(problem_.b_rows() * problem_.ldb * 2);
    made.words.resize((b_at() + b_bytes + 3) / 4 * 4);
    const auto fill = [&](std::size_t at, std::size_t bytes) {
      for (std::size_t i = 0; i < bytes / 2; ++i)
        test::store_integer(Scalar::f16, made.words.data() + at + i * 2, element(set, std::int64_t(i)));
    };
    fill(0, a_bytes());
    fill(b_at(), b_bytes);
    for (std::int64_t i = 0; i < problem_.m; ++i) {
      for (std::int64_t j = 0; j < problem_.n; ++j) {
        int sum = 0;
        for (std::int64_t l = 0; l < problem_.k; ++l) {
          sum += element(set, problem_.trans.a ? l * problem_.lda + i : i * problem_.lda + l) *
                 element(set, problem_.trans.b ? j * problem_.ldb + l : l * problem_.ldb + j);
        }
        made.c.push_back(float(sum));
      }
    }
    return made;
  }

  void launch_rewrite() {
    Rewrite arguments{words_.data(), fresh_[next_].data(), unsigned(words_.size() / 4), arrived_.data(), stale_.data()};
    unsigned long long come_ns = kCome;
    void* parameters[] = {&arguments, &come_ns};
    const unsigned grid[3] = {unsigned(context_.info().limits.sm_count), 1, 1}, block[3] = {512, 1, 1};
    runtime::launch(rewrite_, grid, block, 0, stream_, parameters);
  }

  void launch(const runtime::Plan& plan) {
    runtime::RunArgs args;
    args.matrices[OperandRole::a] = words_.data();
    args.matrices[OperandRole::b] = words_.data() + b_at();
    args.matrices[OperandRole::d] = c_.data();
    args.alpha = runtime::to_scale(problem_.type, 1);
    args.beta = runtime::to_scale(problem_.type, 0);
    args.workspace = plan.workspace_bytes() > 0 ? workspace_.data() : nullptr;
    args.stream = stream_.get();
    REQUIRE(plan.run(args) == 0);
  }

  runtime::Context context_{0};
  Problem problem_;
  runtime::Stream stream_;
  runtime::Module module_;
  CUfunc_st* rewrite_;
  runtime::Plan plan_, hasty_;
  Operands sets_[2];
  runtime::DeviceBuffer words_, fresh_[2], c_, workspace_, arrived_, stale_;
  int next_ = 1;
};

}  // namespace

TEST_CASE("launches that come early read nothing that an L1 held from before the kernel that they wait for") {
  const DeviceLimits limits = runtime::device_info(0).limits;
  if (limits.sm < 90) {
    WARN("this device launches nothing early: nothing was verified");
    return;
  }
  for (const Case& one : kCases) {
    INFO(one.problem << " by " << one.config);
    if (!find_family(Config::parse(one.config)->family())->supports({{*find_type_pair("f16f32"), {}}, limits}))
      continue;
    Bench bench(one);
    bool is_seen = false;  // it came early, over L1s that held the old operands to the end
    for (const int carveout : kCarveouts) {
      INFO("a carve-out of " << carveout << "%");
      const Bench::Seen hasty = bench.run(false, carveout, kHastyTimes), waiting = bench.run(true, carveout, kTimes);
      CHECK(waiting.wrong == 0);
      is_seen = is_seen || (hasty.wrong > 0 && waiting.stale > 0);
    }
    CHECK(is_seen);
  }
}

}  // namespace tilesmith::test_early_operands
