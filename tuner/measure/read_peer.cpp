#include "tuner/measure/read_peer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "tuner/measure/helper_kernels.hpp"

namespace tilesmith::tuner {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kPieceBytes = 16, kPiecesOfThread = 8;
constexpr int kBlockBytes = int(kThreads) * kPieceBytes * kPiecesOfThread;  // that a block has under way

/// Whole pieces of 16 bytes of an operand.
struct Span {
  const void* at;
  long long pieces;
};

/// As in the source below.
struct Spans {
  std::array<Span, kOperandRoleCount> of;
  int count;
};

// Blocks go through all runs of kThreads × kPiecesOfThread pieces of all spans. The sum is written if it is one that no
// data have: the compiler cannot know.
constexpr const char* kReadSource = R"device(
struct Span { const uint4* at; long long pieces; };
struct Spans { Span of[kMostSpans]; int count; };
extern "C" __global__ void __launch_bounds__(256) read_spans(const Spans spans, uint4* never) {
  constexpr int kRun = 256 * kPiecesOfThread;
  uint4 sum = {0, 0, 0, 0};
  long long before = 0;  // runs of the spans before
  for (int s = 0; s < spans.count; ++s) {
    const Span span = spans.of[s];
    const long long runs = (span.pieces + kRun - 1) / kRun;
    long long run = (blockIdx.x - before % gridDim.x + gridDim.x) % gridDim.x;
    for (; run < runs; run += gridDim.x) {
      uint4 piece[kPiecesOfThread];
#pragma unroll
      for (int i = 0; i < kPiecesOfThread; ++i) {
        const long long at = run * kRun + i * 256 + threadIdx.x;
        piece[i] = at < span.pieces ? __ldcs(span.at + at) : uint4{0, 0, 0, 0};
      }
#pragma unroll
      for (int i = 0; i < kPiecesOfThread; ++i) sum.x ^= piece[i].x, sum.y ^= piece[i].y, sum.z ^= piece[i].z, sum.w ^= piece[i].w;
    }
    before += runs;
  }
  if ((sum.x & sum.y & sum.z & sum.w) == 0xffffffffu && never != nullptr) *never = sum;
}
)device";

std::string read_source() {
  return fmt::format("constexpr int kMostSpans = {}, kPiecesOfThread = {};\n", kOperandRoleCount, kPiecesOfThread) +
         kReadSource;
}

bool is_read(const OperandMatrix& matrix, const Problem& problem) {
  if (matrix.role == OperandRole::d) return false;
  return matrix.role != OperandRole::c || problem.beta != BetaClass::zero;
}

Spans spans_of(const OperandSets& operands, int set) {
  Spans spans{};
  for (const OperandMatrix& matrix : tilesmith::operands(operands.problem())) {
    if (!is_read(matrix, operands.problem())) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(operands.at(matrix.role, set));
    const std::uintptr_t first = (begin + kPieceBytes - 1) / kPieceBytes * kPieceBytes,
                         end = begin + std::uintptr_t(matrix.bytes());
    if (end >= first + kPieceBytes)
      spans.of[std::size_t(spans.count++)] = {
          reinterpret_cast<const void*>(first), (long long)(end - first) / kPieceBytes};
  }
  return spans;
}

}  // namespace

ReadPeer::ReadPeer(const runtime::Context& context)
    : module_(load_helper(context, read_source(), "read_spans")), sms_(std::max(1, context.info().limits.sm_count)) {}

std::vector<Competitor> ReadPeer::competitors(const OperandSets& operands) const {
  std::vector<Spans> sets;
  long long bytes = 0;
  for (int set = 0; set < operands.count(); ++set) sets.push_back(spans_of(operands, set));
  for (int i = 0; i < sets.front().count; ++i) bytes += sets.front().of[std::size_t(i)].pieces * kPieceBytes;
  const auto most = unsigned(std::clamp<long long>((bytes + kBlockBytes - 1) / kBlockBytes, 1, 1 << 20));
  std::vector<unsigned> grids{most};  // a block for each run of bytes, and blocks that stay
  for (const int blocks_of_sm : {1, 2, 4, 8}) {
    if (const auto blocks = unsigned(sms_ * blocks_of_sm); blocks < most) grids.push_back(blocks);
  }
  std::vector<Competitor> competitors;
  for (const unsigned grid : grids) {
    const auto enqueue = [this, sets, grid](int set, const runtime::Stream& stream) {
      launch_helper(module_.function("read_spans", 0), {grid, 1, 1}, kThreads, stream, sets[std::size_t(set)],
          static_cast<void*>(nullptr));
    };
    competitors.push_back({fmt::format("read by {} blocks", grid), enqueue});
  }
  return competitors;
}

}  // namespace tilesmith::tuner
