#include <fmt/format.h>

#include <algorithm>

#include "kernels/on_all_cores.hpp"
#include "runtime/interface/gemm.hpp"
#include "runtime/interface/weights_source.hpp"

namespace tilesmith::runtime {

bool checks_order(const RepackArgs& args) { return args.group_of != nullptr && args.k > 0; }
bool checks_zeros(const RepackArgs& args) { return args.zeros != nullptr && args.to_zeros == nullptr && args.groups * args.n > 0; }

bool checks_scales(const RepackArgs& args) { return args.scale_element == kExponentElement && args.to_element == kF16Element && args.groups * args.n > 0; }

void refuse_order(const RepackArgs& args, int fault, int value) {
  throw Error(ErrorCode::bad_argument,
              fmt::format("g_idx[{}] is {}: expected {}, columns in the order of their groups (of act-order, the columns of A would have to be reordered "
                          "too); nothing was repacked",
                          fault - 1, value, (fault - 1) / args.group));
}

void refuse_zero(const RepackArgs& args, int fault, int value) {
  throw Error(ErrorCode::bad_argument,
              fmt::format("zeros[{}][{}] is {}: expected {} everywhere, the weights have no zeros (has_zeros); nothing was repacked", (fault - 1) / args.n,
                          (fault - 1) % args.n, value + (args.bits == 4 ? 8 : 128), args.bits == 4 ? 8 : 128));
}

void refuse_scale(const RepackArgs& args, int fault, int exponent) {
  throw Error(ErrorCode::bad_argument,
              fmt::format("scales[{}][{}] is 2^{}: expected 2^-24 to 2^15, which scale_type f16 holds, or scale_type bf16 or f32; nothing was repacked",
                          (fault - 1) / args.groups, (fault - 1) % args.groups, exponent - 127));
}

void repack_on_host(const RepackArgs& args) {
  if (checks_order(args)) {
    for (long long k = 0; k < args.k; ++k) {
      if (!is_in_order(args, k)) refuse_order(args, int(k) + 1, args.group_of[k]);
    }
  }
  const long long scales = args.groups * args.n;
  if (checks_zeros(args)) {
    for (long long index = 0; index < scales; ++index) {
      if (!is_expected_zero(args, index)) refuse_zero(args, int(index) + 1, packed_zero(args, index / args.n, index % args.n) + args.zero_added);
    }
  }
  if (checks_scales(args)) {
    for (long long index = 0; index < scales; ++index) {
      if (!is_held_by_f16(args, index)) refuse_scale(args, int(index) + 1, args.scales[index]);
    }
  }
  for (long long index = 0; index < scales; ++index) put_scale_and_zero(args, index);
  // A part of the blocks each: memory that no other part writes.
  const long long blocks = code_bytes(args.bits, args.n, args.k) / kCodeBlockBytes;
  constexpr long long kBlocksOfPart = 256;
  on_all_cores(std::size_t((blocks + kBlocksOfPart - 1) / kBlocksOfPart), [&](std::size_t part) {
    const long long first = (long long)part * kBlocksOfPart, last = std::min(blocks, first + kBlocksOfPart);
    for (long long byte = first * kCodeBlockBytes; byte < last * kCodeBlockBytes; ++byte) args.to_codes[byte] = canonical_byte(args, byte);
  });
}

}  // namespace tilesmith::runtime
