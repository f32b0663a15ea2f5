// The packing passes of operands below a byte, run on the host, a thread after the other. Each file that includes this
// says what the passes are compiled for: PACKED_TYPE (a type pair), OPERAND, BITS, SIGNED, WIDEN (kWiden), and SPACE, a
// name for the namespace of that device code.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/families/passes.hpp"
#include "tests/catch.hpp"

// What the passes use of CUDA.
// NOLINTBEGIN(bugprone-reserved-identifier): these are CUDA's names
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))

namespace {

struct __align__(16) uint4 {
  unsigned x, y, z, w;
};
struct uint2 {
  unsigned x, y;
};
struct Index {
  unsigned x;
};
Index threadIdx{0};
[[maybe_unused]] Index blockIdx{0};

struct Readable {
  std::uintptr_t begin, end;
} readable;
int strayed = 0;

[[maybe_unused]] uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
[[maybe_unused]] int min(int a, int b) { return std::min(a, b); }
[[maybe_unused]] int max(int a, int b) { return std::max(a, b); }
template <typename Word>
Word __ldg(const Word* from) {
  const auto at = reinterpret_cast<std::uintptr_t>(from);
  if (at % sizeof(Word) == 0 && at >= readable.begin && at + sizeof(Word) <= readable.end) return *from;
  ++strayed;
  return {};
}
[[maybe_unused]] unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits) {
  return unsigned((std::uint64_t(high) << 32 | low) >> bits % 32);
}
[[maybe_unused]] unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned bits) {
  return unsigned((std::uint64_t(high) << 32 | low) >> std::min(bits, 32u));
}
[[maybe_unused]] unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= unsigned(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}
void __syncthreads() {
}  // a block is run twice: what all threads have written to shared memory is there the second time
// NOLINTEND(bugprone-reserved-identifier)

}  // namespace

// Other files compile the same device code for other operands.
namespace SPACE {
using namespace tilesmith;  // what the host has included
}
#define tilesmith SPACE
namespace tilesmith {
using Operand = OPERAND;
constexpr int kWiden = WIDEN, kOperandBits = BITS;
constexpr bool kOperandIsSigned = SIGNED;
}  // namespace tilesmith
#include "kernels/shared/load/sub_byte_copy.cuh"
#undef tilesmith

namespace {

/// Memory that ends where there is none, for a matrix that ends there.
class Brink {
 public:
  explicit Brink(std::size_t bytes) : page_(std::size_t(sysconf(_SC_PAGESIZE))), bytes_(bytes) {
    inside_ = (bytes + page_ - 1) / page_ * page_;
    void* all = mmap(nullptr, inside_ + page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(all != MAP_FAILED);
    all_ = static_cast<unsigned char*>(all);
    REQUIRE(mprotect(all_, inside_, PROT_READ | PROT_WRITE) == 0);
  }
  Brink(const Brink&) = delete;
  Brink& operator=(const Brink&) = delete;
  ~Brink() { munmap(all_, inside_ + page_); }
  unsigned char* at() const { return all_ + inside_ - bytes_; }

 private:
  std::size_t page_, bytes_, inside_ = 0;
  unsigned char* all_ = nullptr;
};

int element_of(const unsigned char* row, int at) {
  const int bits = row[at * BITS / 8] >> (at * BITS % 8) & ((1 << BITS) - 1);
  return SIGNED && bits >= 1 << (BITS - 1) ? bits - (1 << BITS) : bits;
}

/// An operand of `extent` rows or columns along M, K of depth, in rows of `spare` bytes more than they need; bits
/// beside them are garbage.
template <typename Copy>
void check_packed(int extent, int depth, int spare, bool turned) {
  const int rows = turned ? depth : extent, cols = turned ? extent : depth;
  const int row_bytes = (cols * BITS + 7) / 8, ld = row_bytes + spare;
  const std::size_t span = std::size_t(rows - 1) * std::size_t(ld) + std::size_t(row_bytes);
  const Brink brink(span);
  std::minstd_rand random(unsigned(extent * 31 + depth));
  for (std::size_t i = 0; i < span; ++i) brink.at()[i] = static_cast<unsigned char>(random() >> 7);
  readable = {reinterpret_cast<std::uintptr_t>(brink.at()), reinterpret_cast<std::uintptr_t>(brink.at() + span)};
  strayed = 0;

  const tilesmith::TypePair type = *tilesmith::find_type_pair(PACKED_TYPE);
  const tilesmith::Problem problem = tilesmith::packed_problem({type, {turned, false}}, extent, 1, depth);
  const tilesmith::tensor_core::PackedOperand host =
      tilesmith::tensor_core::packed_sub_bytes(problem, tilesmith::Widening(WIDEN)).a;
  const auto stride = std::size_t(SPACE::packed_row_stride(host.cols, 1));
  std::vector<unsigned char> packed(std::size_t(extent) * stride + 256, 0xee);
  auto* to =
      reinterpret_cast<OPERAND*>(packed.data()) + (16 - reinterpret_cast<std::uintptr_t>(packed.data()) % 16) % 16;
  const Copy copy(brink.at(), ld, rows, cols, to);
  CHECK((host.rows == extent && host.blocks == copy.shares() &&
         std::size_t(copy.elements()) == std::size_t(extent) * stride));
  for (unsigned share = 0; share < copy.shares(); ++share) {
    for (int twice = 0; twice < 2; ++twice) {
      for (unsigned thread = 0; thread < unsigned(SPACE::kPackThreads); ++thread) {
        threadIdx.x = thread;
        copy.copy(share);
      }
    }
  }
  CHECK(strayed == 0);
  std::size_t wrong = 0;
  for (int i = 0; i < extent; ++i) {
    const auto* row = reinterpret_cast<const unsigned char*>(to + std::size_t(i) * stride);
    const int elements = int(stride) * (WIDEN == 1 ? 1 : 8 / BITS);
    for (int k = 0; k < elements; ++k) {
      const int half = elements / 2;
      const bool complement = WIDEN == 2 && k >= half;
      const int at = WIDEN == 2 ? k % half : k;
      int want = at >= depth ? 0
                 : turned    ? element_of(brink.at() + std::size_t(at) * std::size_t(ld), i)
                             : element_of(brink.at() + std::size_t(i) * std::size_t(ld), at);
      if (complement) want = at >= depth ? 0 : 1 - want;
      const int got = WIDEN == 1 ? int(to[std::size_t(i) * stride + std::size_t(k)]) : element_of(row, k);
      wrong += got != want;
    }
  }
  CHECK(wrong == 0);
  CHECK(
      packed[std::size_t(reinterpret_cast<unsigned char*>(to) - packed.data()) + std::size_t(extent) * stride] == 0xee);
}

template <typename Copy>
void check_packed(bool turned) {
  constexpr int kExtents[][2] = {{1, 1}, {3, 2}, {17, 15}, {5, 33}, {64, 257}, {65, 256}, {129, 31}, {130, 1030},
      {300, 65}, {257, 511}, {37, 1024}, {70, 256}};
  for (const auto& [extent, depth] : kExtents) {
    for (const int spare : {0, 1, 4, 16}) {
      INFO(extent << " by K " << depth << ", rows of " << spare << " bytes more");
      check_packed<Copy>(extent, depth, spare, turned);
    }
  }
}

}  // namespace
