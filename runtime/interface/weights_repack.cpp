#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/base/on_all_cores.hpp"
#include "runtime/interface/gemm.hpp"
#include "runtime/interface/weights_source.hpp"

namespace tilesmith::runtime {

void check_repacked(const RepackArgs& args, const FindUnfit& find, const ReadArrays& read) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorCode::bad_argument, what + "; nothing was repacked");
  };
  const long long scales = args.groups * args.n;
  if (args.group_of != nullptr && args.k > 0) {
    if (const int fault = find("find_unordered", is_in_order, args.k); fault != 0) {
      int group = 0;
      read(&group, args.group_of + (fault - 1), sizeof group);
      refuse(fmt::format(
          "g_idx[{}] is {}: expected {}, columns in the order of their groups (of act-order, the columns of A would have to be reordered "
          "too)",
          fault - 1, group, (fault - 1) / args.group));
    }
  }
  if (args.zeros != nullptr && args.to_zeros == nullptr && scales > 0) {
    if (const int fault = find("find_zeros", is_expected_zero, scales); fault != 0) {
      const long long group = (fault - 1) / args.n, n = (fault - 1) % args.n, in_word = 32 / args.bits;
      unsigned char word[4];
      read(word, args.zeros + (group * ((args.n + in_word - 1) / in_word) + n / in_word) * 4, sizeof word);
      RepackArgs alone = args;
      alone.zeros = word;
      const int middle = 1 << (args.bits - 1), zero = packed_zero(alone, 0, n % in_word) + args.zero_added;
      refuse(fmt::format("zeros[{}][{}] is {}: expected {} everywhere, the weights have no zeros (has_zeros)", group, n,
          (zero + middle) & (2 * middle - 1), middle));
    }
  }
  if (args.for_bytes != 0 && args.to_zeros != nullptr && args.zero_element != kPackedElement && scales > 0) {
    if (const int fault = find("find_lost_zeros", has_code_of_zero, scales); fault != 0) {
      const long long bytes = args.zero_element == kF32Element || args.zero_element == kS32Element    ? 4
                              : args.zero_element == kF16Element || args.zero_element == kBf16Element ? 2
                                                                                                      : 1;
      const long long across = args.by_rows != 0 ? args.groups : args.n;
      unsigned char zero[4];
      read(zero, args.zeros + (fault - 1) * bytes, std::size_t(bytes));
      refuse(
          fmt::format("zeros[{}][{}] is {}: expected whole numbers from {} to {} with a_bits 8", (fault - 1) / across,
              (fault - 1) % across, element_at(zero, args.zero_element, 0), -args.padding, 15 - args.padding));
    }
  }
  const bool q4k = args.source == kQ4KSource, q6k = args.source == kQ6KSource;
  if (const long long blocks = args.k / kSuperColumns; (q4k || q6k) && scales > 0) {
    if (const int fault = find("find_endless_factors", has_finite_factors, blocks * args.n); fault != 0) {
      unsigned char factors[4];
      read(factors, super_block(args, 0, fault - 1LL) + super_factors_at(args.source),
          std::size_t(super_factors_bytes(args.source)));
      const std::string dmin = q4k ? fmt::format(" and dmin {}", f32_of_f16(u16_at(factors + 2))) : "";
      refuse(fmt::format("block {} of row {} has d {}{}: expected finite numbers", (fault - 1) % blocks,
          (fault - 1) / blocks, f32_of_f16(u16_at(factors)), dmin));
    }
  }
  const bool exponents = args.scale_element == kExponentElement, f32 = args.scale_element == kF32Element;
  if ((exponents || f32 || args.scale_element == kBf16Element) && args.to_element == kF16Element && scales > 0) {
    if (const int fault = find("find_lost_scales", is_held_by_f16, scales); fault != 0) {
      const int bytes = exponents ? 1 : f32 ? 4 : 2;
      const long long across = exponents || args.by_rows != 0 ? args.groups : args.n;
      unsigned char scale[4];
      read(scale, args.scales + (fault - 1LL) * bytes, std::size_t(bytes));
      const std::string is = exponents
                                 ? fmt::format("2^{}: expected 2^-24 to 2^15", int(scale[0]) - 127)
                                 : fmt::format("{}: expected at most 65504", element_at(scale, args.scale_element, 0));
      refuse(fmt::format("scales[{}][{}] is {}, which scale_type f16 holds, or scale_type bf16 or f32",
          (fault - 1) / across, (fault - 1) % across, is));
    }
  }
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

void repack_one(const RepackArgs& args) {
  for (long long index = 0; index < args.groups * args.n; ++index) put_scale_and_zero(args, index);
  // A part of the blocks each: memory that no other part writes.
  const long long bytes = all_code_bytes(args.bits, args.n, args.k);
  constexpr long long kBytesOfPart = 256LL * kCodeBlockBytes;
  on_all_cores(std::size_t((bytes + kBytesOfPart - 1) / kBytesOfPart), [&](std::size_t part) {
    const long long first = (long long)part * kBytesOfPart, last = std::min(bytes, first + kBytesOfPart);
    for (long long byte = first; byte < last; ++byte) args.to_codes[byte] = canonical_byte(args, byte);
  });
}

}  // namespace

void repack_on_host(std::vector<RepackArgs> experts) {
  std::vector<std::vector<std::uint32_t>> raised(experts.size());
  for (std::size_t i = 0; i < experts.size(); ++i) {
    const auto find = [&](const char*, Fits fits, long long items) {
      for (long long item = 0; item < items; ++item) {
        if (!fits(experts[i], item)) return int(item) + 1;
      }
      return 0;
    };
    check_repacked(experts[i], find, std::memcpy);
    if (!has_lowered_zeros(experts[i])) continue;
    raised[i].resize(zero_words(experts[i]));
    std::memcpy(raised[i].data(), experts[i].zeros, raised[i].size() * 4);
    raise_zeros(experts[i], raised[i]);
  }
  for (const RepackArgs& args : experts) repack_one(args);
}

}  // namespace tilesmith::runtime
