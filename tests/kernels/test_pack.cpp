// The copies of the packing passes, run on the host, each by itself: what lies beyond an operand's ends may not be
// memory, and a GPU does not tell of a few bytes too many. (That a pass packs both operands is seen on the GPU.)
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "tests/catch.hpp"

// What the passes use of CUDA. Operands are read by __ldg, which notes what it may not read, or element by element.
// NOLINTBEGIN(bugprone-reserved-identifier): these are CUDA's names
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))

namespace {

struct __align__(16) uint4 {
  unsigned x, y, z, w;
};
struct Index {
  unsigned x;
};
thread_local Index threadIdx{0};
[[maybe_unused]] Index blockIdx{0};

struct Readable {
  std::uintptr_t begin, end;
} readable;
std::atomic<int> strayed{0};

/// std::barrier yields in a loop before it sleeps: of hundreds of threads on a few cores most of the time would go
/// there.
class Barrier {
 public:
  explicit Barrier(unsigned threads) { pthread_barrier_init(&barrier_, nullptr, threads); }
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;
  ~Barrier() { pthread_barrier_destroy(&barrier_); }
  void arrive_and_wait() { pthread_barrier_wait(&barrier_); }

 private:
  pthread_barrier_t barrier_{};
};
Barrier* of_block = nullptr;

uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
int min(int a, int b) { return std::min(a, b); }
int max(int a, int b) { return std::max(a, b); }
uint4 __ldg(const uint4* from) {
  const auto at = reinterpret_cast<std::uintptr_t>(from);
  if (at % 16 == 0 && at >= readable.begin && at + 16 <= readable.end) return *from;
  ++strayed;
  return {};
}
unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits) {
  return unsigned((std::uint64_t(high) << 32 | low) >> bits % 32);
}
unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned bits) {
  return unsigned((std::uint64_t(high) << 32 | low) >> std::min(bits, 32u));
}
unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= unsigned(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}
float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
void __syncthreads() { of_block->arrive_and_wait(); }
// NOLINTEND(bugprone-reserved-identifier)

}  // namespace

// Of the config: not used by the copies, which are what is tested.
namespace tilesmith {
constexpr bool kGateInterleaved = false;
}  // namespace tilesmith

#include "kernels/families/passes.hpp"
#include "kernels/shared/load/k_major_copy.cuh"

namespace {

using namespace tilesmith;

/// Memory that ends, and begins, where there is none.
class Island {
 public:
  explicit Island(std::size_t bytes) : page_(std::size_t(sysconf(_SC_PAGESIZE))) {
    inside_ = (bytes + page_ - 1) / page_ * page_;
    void* all = mmap(nullptr, inside_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(all != MAP_FAILED);
    all_ = static_cast<std::byte*>(all);
    REQUIRE(mprotect(all_ + page_, inside_, PROT_READ | PROT_WRITE) == 0);
  }
  Island(const Island&) = delete;
  Island& operator=(const Island&) = delete;
  ~Island() { munmap(all_, inside_ + 2 * page_); }
  std::byte* begin() const { return all_ + page_; }
  std::byte* end() const { return begin() + inside_; }

 private:
  std::size_t page_, inside_;
  std::byte* all_;
};

/// A block's threads, which are made once.
class Team {
 public:
  Team() {
    of_block = &inside_;
    for (unsigned i = 0; i < unsigned(kPackThreads); ++i) threads_.emplace_back([this, i] { work(i); });
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    task_ = nullptr;
    begin_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }
  /// `task` on all threads of a block.
  void run(const std::function<void()>& task) {
    task_ = &task;
    begin_.arrive_and_wait();
    end_.arrive_and_wait();
  }

 private:
  void work(unsigned number) {
    threadIdx.x = number;
    for (;;) {
      begin_.arrive_and_wait();
      if (task_ == nullptr) return;
      (*task_)();
      end_.arrive_and_wait();
    }
  }

  Barrier begin_{kPackThreads + 1}, inside_{kPackThreads}, end_{kPackThreads + 1};
  const std::function<void()>* task_ = nullptr;
  std::vector<std::thread> threads_;
};

/// Packs an operand of `rows` rows of `cols` elements that begins `skew` elements after the island's start, or ends at
/// its end.
template <typename Element, template <typename> typename Copy>
void check_copy(Team& block, int rows, int cols, int ld, int skew, bool turned) {
  const std::size_t span = std::size_t(rows - 1) * std::size_t(ld) + std::size_t(cols);
  const Island island((span + std::size_t(std::max(skew, 0))) * sizeof(Element));
  auto* from =
      skew < 0 ? reinterpret_cast<Element*>(island.end()) - span : reinterpret_cast<Element*>(island.begin()) + skew;
  for (std::size_t i = 0; i < span; ++i) from[i] = Element((i * 2654435761u >> 7) | 1);

  const int packed_rows = turned ? cols : rows, packed_cols = turned ? rows : cols;
  const auto stride = std::size_t(packed_row_stride(packed_cols, sizeof(Element)));
  const Island packed(std::size_t(packed_bytes(packed_rows, packed_cols, sizeof(Element))));
  auto* to = reinterpret_cast<Element*>(packed.begin());
  std::memset(packed.begin(), 0xee, std::size_t(packed.end() - packed.begin()));

  readable = {reinterpret_cast<std::uintptr_t>(from), reinterpret_cast<std::uintptr_t>(from + span)};
  strayed = 0;
  const Copy<Element> copy(from, ld, rows, cols, to);
  const char* types[] = {"s8s32", "f16f32", "tf32f32", "f64f64"};  // by the size of their operands
  const Problem problem =
      packed_problem({*find_type_pair(types[std::countr_zero(sizeof(Element))]), {true, false}}, cols, 1, rows);
  CHECK(tensor_core::packed_operands(problem, turned, false).a.blocks == copy.shares());
  for (unsigned share = 0; share < copy.shares(); ++share) block.run([&] { copy.copy(share); });
  CHECK(strayed == 0);
  std::size_t wrong = 0;
  for (std::size_t row = 0; row < std::size_t(packed_rows); ++row) {
    for (std::size_t col = 0; col < stride; ++col) {
      const std::size_t at = turned ? col * std::size_t(ld) + row : row * std::size_t(ld) + col;
      const Element expected = col < std::size_t(packed_cols) ? from[at] : Element(0);
      wrong += to[row * stride + col] != expected;
    }
  }
  CHECK(wrong == 0);
  const std::byte* end = packed.begin() + packed_bytes(packed_rows, packed_cols, sizeof(Element));
  CHECK(std::all_of(end, const_cast<const std::byte*>(packed.end()), [](std::byte b) { return b == std::byte{0xee}; }));
}

struct Shape {
  int rows, cols, ld;
};

constexpr Shape kShapes[] = {
    {1, 1, 1},
    {1, 16, 16},
    {2, 3, 3},
    {5, 7, 9},
    {3, 15, 15},
    {9, 31, 31},
    {129, 3, 3},
    {64, 64, 64},
    {65, 64, 64},
    {64, 65, 65},
    {63, 130, 133},
    {128, 128, 128},
    {129, 127, 127},
    {200, 90, 90},
    {31, 261, 261},
    {70, 256, 259},
    {2, 1100, 1100},
    {1, 3000, 3000},
};

template <typename Element, template <typename> typename Copy>
void check_copies(bool turned) {
  Team block;
  for (const Shape& shape : kShapes) {
    for (const int skew : {-1, 0, 3}) {
      INFO(shape.rows << " rows of " << shape.cols << ", stride " << shape.ld << ", " << sizeof(Element)
                      << " bytes, skew " << skew);
      check_copy<Element, Copy>(block, shape.rows, shape.cols, shape.ld, skew, turned);
    }
  }
}

TEST_CASE("operands packed as they are stored are whole, zero in their padding, and read nowhere else") {
  check_copies<std::uint8_t, AlignedCopy>(false);
  check_copies<std::uint16_t, AlignedCopy>(false);
  check_copies<std::uint32_t, AlignedCopy>(false);
  check_copies<std::uint64_t, AlignedCopy>(false);
}

TEST_CASE("operands turned K-major are whole, zero in their padding, and read nowhere else") {
  check_copies<std::uint8_t, KMajorCopy>(true);
  check_copies<std::uint16_t, KMajorCopy>(true);
  check_copies<std::uint32_t, KMajorCopy>(true);
}

}  // namespace
