#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/base/on_all_cores.hpp"
#include "runtime/interface/gemm.hpp"
#include "runtime/interface/weights_source.hpp"

namespace tilesmith::runtime {

bool checks_order(const RepackArgs& args) { return args.group_of != nullptr && args.k > 0; }
bool checks_zeros(const RepackArgs& args) {
  return args.zeros != nullptr && args.to_zeros == nullptr && args.groups * args.n > 0;
}

bool checks_scales(const RepackArgs& args) {
  return args.scale_element == kExponentElement && args.to_element == kF16Element && args.groups * args.n > 0;
}

void refuse_order(const RepackArgs& args, int fault, int value) {
  throw Error(ErrorCode::bad_argument,
      fmt::format(
          "g_idx[{}] is {}: expected {}, columns in the order of their groups (of act-order, the columns of A would have to be reordered "
          "too); nothing was repacked",
          fault - 1, value, (fault - 1) / args.group));
}

void refuse_zero(const RepackArgs& args, int fault, int value) {
  const int middle = 1 << (args.bits - 1);
  throw Error(ErrorCode::bad_argument,
      fmt::format(
          "zeros[{}][{}] is {}: expected {} everywhere, the weights have no zeros (has_zeros); nothing was repacked",
          (fault - 1) / args.n, (fault - 1) % args.n, (value + middle) & (2 * middle - 1), middle));
}

void refuse_scale(const RepackArgs& args, int fault, int exponent) {
  throw Error(ErrorCode::bad_argument,
      fmt::format(
          "scales[{}][{}] is 2^{}: expected 2^-24 to 2^15, which scale_type f16 holds, or scale_type bf16 or f32; nothing was repacked",
          (fault - 1) / args.groups, (fault - 1) % args.groups, exponent - 127));
}

bool has_lowered_zeros(const RepackArgs& args) {  // The middle, which is subtracted of signed elements, is even.
  return args.source == kGptqSource && args.to_zeros != nullptr && args.zero_added % 2 != 0 && args.groups * args.n > 0;
}

std::size_t zero_words(const RepackArgs& args) { return std::size_t(args.groups * ((args.n * args.bits + 31) / 32)); }

void raise_zeros(RepackArgs& args, std::vector<std::uint32_t>& words) {
  const std::uint32_t top = args.bits == 4 ? 0x88888888U : 0x80808080U, one = top >> (args.bits - 1);
  for (std::uint32_t& word : words)
    word = ((word & ~top) + one) ^ (word & top);  // each zero by itself: no carry leaves it
  args.zeros = reinterpret_cast<const unsigned char*>(words.data());
  --args.zero_added;
  const int middle = 1 << (args.bits - 1);
  for (long long index = 0; index < args.groups * args.n; ++index) {
    if (packed_zero(args, index / args.n, index % args.n) != middle + 1) return;
  }
  throw Error(ErrorCode::bad_argument,
      fmt::format(
          "zeros are {} everywhere, one above the middle: version 2? It stores zeros as they are (TILESMITH_WEIGHTS_GPTQ_V2, v2=True, "
          "checkpoint_format gptq_v2); expected others of version 1; nothing was repacked",
          middle + 1));
}

namespace {

void check_on_host(const RepackArgs& args) {
  if (checks_order(args)) {
    for (long long k = 0; k < args.k; ++k) {
      if (!is_in_order(args, k)) refuse_order(args, int(k) + 1, args.group_of[k]);
    }
  }
  const long long scales = args.groups * args.n;
  if (checks_zeros(args)) {
    for (long long index = 0; index < scales; ++index) {
      if (!is_expected_zero(args, index))
        refuse_zero(args, int(index) + 1, packed_zero(args, index / args.n, index % args.n) + args.zero_added);
    }
  }
  if (checks_scales(args)) {
    for (long long index = 0; index < scales; ++index) {
      if (!is_held_by_f16(args, index)) refuse_scale(args, int(index) + 1, args.scales[index]);
    }
  }
}

void repack_one(const RepackArgs& args) {
  for (long long index = 0; index < args.groups * args.n; ++index) put_scale_and_zero(args, index);
  // A part of the blocks each: memory that no other part writes.
  const long long blocks = code_bytes(args.bits, args.n, args.k) / kCodeBlockBytes;
  constexpr long long kBlocksOfPart = 256;
  on_all_cores(std::size_t((blocks + kBlocksOfPart - 1) / kBlocksOfPart), [&](std::size_t part) {
    const long long first = (long long)part * kBlocksOfPart, last = std::min(blocks, first + kBlocksOfPart);
    for (long long byte = first * kCodeBlockBytes; byte < last * kCodeBlockBytes; ++byte)
      args.to_codes[byte] = canonical_byte(args, byte);
  });
}

}  // namespace

void repack_on_host(std::vector<RepackArgs> experts) {
  std::vector<std::vector<std::uint32_t>> raised(experts.size());
  for (std::size_t i = 0; i < experts.size(); ++i) {
    check_on_host(experts[i]);
    if (!has_lowered_zeros(experts[i])) continue;
    raised[i].resize(zero_words(experts[i]));
    std::memcpy(raised[i].data(), experts[i].zeros, raised[i].size() * 4);
    raise_zeros(experts[i], raised[i]);
  }
  for (const RepackArgs& args : experts) repack_one(args);
}

}  // namespace tilesmith::runtime
