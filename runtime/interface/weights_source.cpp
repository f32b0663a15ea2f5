#include "runtime/interface/weights_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "runtime/interface/c_values.hpp"

namespace tilesmith::runtime {
namespace {

template <typename... Args>
Error refused_weights(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorCode::bad_argument, fmt::format(format, std::forward<Args>(args)...)};
}

struct CodeType {
  std::string_view name;
  int bits;
  int sign;     // the bit that is turned over in a code of an element in two's complement
  int padding;  // the code of 0
};
constexpr std::array kCodeTypes{CodeType{"s4", 4, 8, 8}, CodeType{"u4", 4, 0, 0}, CodeType{"s8", 8, 128, 128},
    CodeType{"e4m3", 8, 0, 0}, CodeType{"e2m1", 4, 0, 0}, CodeType{"nf4", 4, 0, 7}, CodeType{"q4_k", 4, 0, 0},
    CodeType{"q6_k", 6, 0, 32}};

bool is_k_quant(const CodeType& type) { return type.name == "q4_k" || type.name == "q6_k"; }
bool has_codebook(const CodeType& type) { return type.name == "e2m1" || type.name == "nf4"; }

const CodeType& code_type(const tilesmith_weights& weights) {
  for (const CodeType& type : kCodeTypes) {
    if (type.name == text_in(weights.type)) return type;
  }
  throw refused_weights(
      "type of weights is '{}': expected s4, u4, s8, e4m3, e2m1, nf4, q4_k or q6_k", text_in(weights.type));
}

constexpr std::array kElements{std::pair{std::string_view("f16"), kF16Element},
    std::pair{std::string_view("bf16"), kBf16Element}, std::pair{std::string_view("f32"), kF32Element},
    std::pair{std::string_view("s8"), kS8Element}, std::pair{std::string_view("u8"), kU8Element},
    std::pair{std::string_view("s32"), kS32Element}};
constexpr std::size_t kScaleElements = 3;  // the first ones

std::optional<WeightElement> element_of(std::string_view name, std::size_t of) {
  for (std::size_t i = 0; i < of; ++i) {
    if (kElements[i].first == name) return kElements[i].second;
  }
  return std::nullopt;
}

std::int64_t groups_of(const tilesmith_weights& weights) { return weights.group == 0 ? 1 : weights.k / weights.group; }

/// Throws unless the array is there, of such a type and shape.
void check_array(const char* what, const tilesmith_array& array, std::initializer_list<std::string_view> types,
    std::int64_t rows, std::int64_t columns) {
  if (array.data == nullptr)
    throw refused_weights("{} is null: expected {}x{} of {}", what, rows, columns, *types.begin());
  bool known = false;
  for (const std::string_view type : types) known = known || type == text_in(array.type);
  if (!known) throw refused_weights("{} is of {}: expected {}", what, text_in(array.type), fmt::join(types, " or "));
  if (array.rows == rows && array.columns == columns) return;
  throw refused_weights("{} is {}x{}: expected {}x{}", what, array.rows, array.columns, rows, columns);
}

void check_none(const char* what, const tilesmith_array& array, const char* why) {
  if (array.data != nullptr) throw refused_weights("{} is given: expected none, {}", what, why);
}

/// Of bytes and nibbles [groups][n] or [n][groups]; of others the first.
bool comes_by_rows(const char* what, const tilesmith_array& array, std::int64_t groups, std::int64_t n, bool may) {
  if (array.rows == groups && array.columns == n) return false;
  if (may && array.rows == n && array.columns == groups) return true;
  throw refused_weights("{} is {}x{}: expected {}x{}, one row for each group of columns of weights{}", what, array.rows,
      array.columns, groups, n, may ? fmt::format(", or {}x{}", n, groups) : "");
}

const char* name_of_format(int format) {
  constexpr const char* kNames[] = {
      "bytes", "nibbles", "GPTQ", "GPTQ v2", "AWQ", "Q4_0", "Q8_0", "MXFP4", "NF4 of bitsandbytes", "Q4_K", "Q6_K"};
  if (format < 0 || format > TILESMITH_WEIGHTS_Q6_K)
    throw refused_weights("format is {}: expected a tilesmith_weights_format", format);
  return kNames[format];
}

void expect_types(const tilesmith_weights& weights, int format, std::string_view types, bool holds) {
  if (!holds)
    throw refused_weights(
        "type of weights is {}: expected {} of {}", text_in(weights.type), types, name_of_format(format));
}

/// Codes as bytes or nibbles.
void take_plain(
    RepackArgs& args, const tilesmith_weights& weights, const tilesmith_weights_source& from, const CodeType& type) {
  const bool bytes = from.format == TILESMITH_WEIGHTS_BYTES;
  args.source = bytes ? kBytesSource : kNibblesSource;
  const std::int64_t columns = bytes ? weights.k : (weights.k + 1) / 2;
  expect_types(weights, from.format, bytes ? "s4, u4, s8, e4m3, e2m1 or nf4" : "s4, u4, e2m1 or nf4",
      !is_k_quant(type) && (bytes || type.bits == 4));
  if (!bytes) {
    if (type.sign == 0) return check_array("codes", from.codes, {"u4"}, weights.n, columns);
    check_array("codes", from.codes, {"s4", "u4"}, weights.n, columns);
    args.flipped = text_in(from.codes.type) == "s4" ? type.sign : 0;
  } else if (type.name == "e4m3") {
    check_array("codes", from.codes, {"e4m3", "u8"}, weights.n, columns);
  } else if (type.sign == 0) {
    check_array("codes", from.codes, {"u8"}, weights.n, columns);
  } else {
    check_array("codes", from.codes, {"s8", "u8"}, weights.n, columns);
    args.flipped = text_in(from.codes.type) == "s8" ? type.sign : 0;
  }
}

/// 32-bit words of GPTQ or AWQ, and zeros packed alike.
void take_words(
    RepackArgs& args, const tilesmith_weights& weights, const tilesmith_weights_source& from, const CodeType& type) {
  const bool awq = from.format == TILESMITH_WEIGHTS_AWQ;
  args.source = awq ? kAwqSource : kGptqSource;
  if (awq) expect_types(weights, from.format, "u4", type.name == "u4");
  else expect_types(weights, from.format, "u4, s4 or s8", type.sign != 0 || type.name == "u4");
  if (type.name == "u4" && weights.has_zeros == 0)
    throw refused_weights("weights of {} as u4 have no zeros: expected has_zeros, or s4", name_of_format(from.format));
  const std::int64_t in_word = 32 / type.bits, along = awq ? weights.n : weights.k;
  if (along % in_word != 0)
    throw refused_weights(
        "{} is {}: expected a multiple of {}, codes of a 32-bit word", awq ? "n" : "k", along, in_word);
  if (awq) check_array("codes", from.codes, {"s32"}, weights.k, weights.n / in_word);
  else check_array("codes", from.codes, {"s32"}, weights.k / in_word, weights.n);
  args.zero_added = (from.format == TILESMITH_WEIGHTS_GPTQ ? 1 : 0) - (type.sign != 0 ? type.padding : 0);
  args.zero_element = kPackedElement;
  if (from.g_idx.data != nullptr) {
    if (awq) check_none("g_idx", from.g_idx, "AWQ has no order of its own");
    check_array("g_idx", from.g_idx, {"s32"}, 1, weights.k);
    args.group_of = static_cast<const int*>(from.g_idx.data);
  }
  if (weights.has_zeros != 0 || from.zeros.data != nullptr)
    check_array("zeros", from.zeros, {"s32"}, groups_of(weights), (weights.n + in_word - 1) / in_word);
  args.zeros = static_cast<const unsigned char*>(from.zeros.data);
}

/// Blocks of GGUF: their columns and bytes, and the type that they make, with the columns that share a scale.
struct BlockFormat {
  int format, columns, bytes, group;
  WeightSource source;
  std::string_view type;
};
constexpr std::array kBlockFormats{BlockFormat{TILESMITH_WEIGHTS_Q4_0, 32, 18, 32, kQ4Source, "s4"},
    BlockFormat{TILESMITH_WEIGHTS_Q8_0, 32, 34, 32, kQ8Source, "s8"},
    BlockFormat{TILESMITH_WEIGHTS_Q4_K, kSuperColumns, super_block_bytes(kQ4KSource), 32, kQ4KSource, "q4_k"},
    BlockFormat{TILESMITH_WEIGHTS_Q6_K, kSuperColumns, super_block_bytes(kQ6KSource), 16, kQ6KSource, "q6_k"}};

void take_blocks(
    RepackArgs& args, const tilesmith_weights& weights, const tilesmith_weights_source& from, const CodeType& type) {
  const BlockFormat& of = *std::ranges::find(kBlockFormats, from.format, &BlockFormat::format);
  args.source = of.source;
  expect_types(weights, from.format, of.type, type.name == of.type);
  if (weights.group != of.group)
    throw refused_weights("group is {}: expected {} of {}", weights.group, of.group, name_of_format(from.format));
  if (weights.has_zeros != 0 && !is_k_quant(type))
    throw refused_weights("has_zeros is {}: expected 0 of {}", weights.has_zeros, name_of_format(from.format));
  check_array("codes", from.codes, {"u8"}, weights.n, weights.k / of.columns * of.bytes);
  check_none("scales", from.scales, "they stand in the blocks");
  if (is_k_quant(type)) check_none("zeros", from.zeros, "they stand in the blocks");
  args.flipped = of.source == kQ8Source ? type.sign : 0;
}

void take_mxfp4(
    RepackArgs& args, const tilesmith_weights& weights, const tilesmith_weights_source& from, const CodeType& type) {
  args.source = type.bits == 4 ? kNibblesSource : kMxfp4Source;
  expect_types(weights, from.format, "e2m1 or e4m3", type.name == "e2m1" || type.name == "e4m3");
  if (weights.group != 32) throw refused_weights("group is {}: expected 32 of MXFP4", weights.group);
  if (weights.has_zeros != 0) throw refused_weights("has_zeros is {}: expected 0 of MXFP4", weights.has_zeros);
  check_array("codes", from.codes, {"u4"}, weights.n, weights.k / 2);
  check_array("scales", from.scales, {"u8"}, weights.n, weights.k / 32);
  args.scales = static_cast<const unsigned char*>(from.scales.data);
  args.scale_element = kExponentElement;
  args.by_rows = 1;
}

/// As check_array(), also of one row, or one column, that has all of it.
void check_flat(
    const char* what, const tilesmith_array& array, std::string_view type, std::int64_t rows, std::int64_t columns) {
  const bool one = array.rows == 1 || array.columns == 1, flat = one && array.rows * array.columns == rows * columns;
  tilesmith_array as_matrix = array;
  if (flat) as_matrix.rows = rows, as_matrix.columns = columns;
  check_array(what, as_matrix, {type}, rows, columns);
}

void take_bnb_nf4(
    RepackArgs& args, const tilesmith_weights& weights, const tilesmith_weights_source& from, const CodeType& type) {
  args.source = kUpperFirstSource;
  expect_types(weights, from.format, "nf4", type.name == "nf4");
  if (weights.k % 2 != 0)
    throw refused_weights("k is {}: expected a multiple of 2 of {}", weights.k, name_of_format(from.format));
  check_flat("codes", from.codes, "u8", weights.n, weights.k / 2);
  check_flat("scales", from.scales, "f32", weights.n, groups_of(weights));
  args.scales = static_cast<const unsigned char*>(from.scales.data);
  args.scale_element = kF32Element;
  args.by_rows = 1;
}

std::int64_t experts_of(const tilesmith_weights& weights) { return std::max<std::int64_t>(1, weights.experts); }

/// An expert's part of an array whose rows are those of all of them.
tilesmith_array of_expert(const char* what, tilesmith_array array, std::int64_t expert, std::int64_t experts) {
  if (array.data == nullptr || experts == 1) return array;
  if (array.rows % experts != 0)
    throw refused_weights("{} has {} rows: expected a multiple of {}, the experts", what, array.rows, experts);
  array.rows /= experts;
  const std::string_view type = text_in(array.type);
  const std::int64_t element = type == "f32" || type == "s32" ? 4 : type == "f16" || type == "bf16" ? 2 : 1;
  array.data = static_cast<const unsigned char*>(array.data) + expert * array.rows * array.columns * element;
  return array;
}

tilesmith_weights_sizes sizes_of_one(const tilesmith_weights& weights) {
  const CodeType& type = code_type(weights);
  const bool six_bits = type.bits == 6;
  const std::uint64_t element = text_in(weights.scale_type) == "f32" ? 4 : six_bits ? 1 : 2;  // of q4_k a pair of bytes
  const std::uint64_t scales = std::uint64_t(groups_of(weights)) * std::uint64_t(weights.n) * element,
                      zeros = weights.has_zeros != 0 ? scales : 0,
                      factors = std::uint64_t(weights.k / kSuperColumns * weights.n) * (six_bits ? 2 : 4);
  return {std::uint64_t(all_code_bytes(type.bits, weights.n, weights.k)), scales, is_k_quant(type) ? factors : zeros};
}

RepackArgs args_of_one(
    const tilesmith_weights& weights, const tilesmith_weights_source& from, void* codes, void* scales, void* zeros) {
  const CodeType& type = code_type(weights);
  const std::int64_t groups = groups_of(weights);
  const bool mxfp4 = from.format == TILESMITH_WEIGHTS_MXFP4, bnb = from.format == TILESMITH_WEIGHTS_BNB_NF4,
             blocks = from.format >= TILESMITH_WEIGHTS_Q4_0, plain = from.format <= TILESMITH_WEIGHTS_NIBBLES;
  RepackArgs args{};
  args.n = weights.n;
  args.k = weights.k;
  args.groups = groups;
  args.group = weights.group == 0 ? weights.k : weights.group;
  args.bits = type.bits;
  args.for_bytes = weights.a_bits == 8 ? 1 : 0;
  args.padding = type.padding;
  args.to_element = *element_of(text_in(weights.scale_type), kScaleElements);
  args.codes = static_cast<const unsigned char*>(from.codes.data);
  if (groups * weights.n > INT32_MAX - 1)
    throw refused_weights(
        "weights have {} groups of {} rows: expected at most {} scales", groups, weights.n, INT32_MAX - 1);
  if (plain) take_plain(args, weights, from, type);
  else if (mxfp4) take_mxfp4(args, weights, from, type);
  else if (bnb) take_bnb_nf4(args, weights, from, type);
  else if (blocks) take_blocks(args, weights, from, type);
  else take_words(args, weights, from, type);
  if (plain || blocks) check_none("g_idx", from.g_idx, "it is of GPTQ");
  if (!blocks) {
    const auto element = element_of(text_in(from.scales.type), kScaleElements);
    if (from.scales.data == nullptr)
      throw refused_weights("scales is null: expected {}x{} of f16, bf16 or f32", groups, weights.n);
    if (!element) throw refused_weights("scales is of {}: expected f16, bf16 or f32", text_in(from.scales.type));
    args.by_rows = comes_by_rows("scales", from.scales, groups, weights.n, plain) ? 1 : 0;
    args.scales = static_cast<const unsigned char*>(from.scales.data);
    args.scale_element = *element;
  }
  if (plain && weights.has_zeros != 0) {
    const auto element = element_of(text_in(from.zeros.type), kElements.size());
    if (from.zeros.data == nullptr)
      throw refused_weights("zeros is null: expected {}x{}, as scales", groups, weights.n);
    if (!element)
      throw refused_weights("zeros is of {}: expected f16, bf16, f32, s8, u8 or s32", text_in(from.zeros.type));
    if (comes_by_rows("zeros", from.zeros, groups, weights.n, true) != (args.by_rows != 0) && groups != weights.n)
      throw refused_weights("zeros is {}x{}: expected the shape of scales, {}x{}", from.zeros.rows, from.zeros.columns,
          from.scales.rows, from.scales.columns);
    args.zeros = static_cast<const unsigned char*>(from.zeros.data);
    args.zero_element = *element;
  }
  if ((plain || blocks) && weights.has_zeros == 0) check_none("zeros", from.zeros, "the weights have none");
  if (codes == nullptr) throw refused_weights("codes to make is null: expected memory of tilesmith_weights_bytes");
  if (scales == nullptr) throw refused_weights("scales to make is null: expected memory of tilesmith_weights_bytes");
  if ((zeros != nullptr) != (weights.has_zeros != 0))
    throw refused_weights("{}", zeros != nullptr ? "zeros to make is given: expected null, the weights have none"
                                                 : "zeros to make is null: expected memory of tilesmith_weights_bytes");
  if (reinterpret_cast<std::uintptr_t>(codes) % 16 != 0)
    throw Error(ErrorCode::misaligned, "codes to make is not aligned: expected a multiple of 16 bytes");
  args.to_codes = static_cast<unsigned char*>(codes);
  args.to_scales = static_cast<unsigned char*>(scales);
  args.to_zeros = static_cast<unsigned char*>(zeros);
  return args;
}

}  // namespace

void check_weights(const tilesmith_weights& weights) {
  const CodeType& type = code_type(weights);
  for (const auto& [name, value] : {std::pair{"n", weights.n}, {"k", weights.k}}) {
    if (value < 0 || value > kMaxDimension)
      throw refused_weights("{} is {}: expected 0 to {}", name, value, kMaxDimension);
  }
  if (!element_of(text_in(weights.scale_type), kScaleElements))
    throw refused_weights("scale_type is '{}': expected f16, bf16 or f32", text_in(weights.scale_type));
  if (is_k_quant(type)) {
    const std::int64_t group = type.bits == 6 ? 16 : 32;
    if (weights.k % kSuperColumns != 0)
      throw refused_weights("k is {}: expected a multiple of {} of {}", weights.k, kSuperColumns, type.name);
    if (weights.group != group || text_in(weights.scale_type) != "f16" || weights.has_zeros == 0)
      throw refused_weights("group is {}, scale_type {} and has_zeros {}: expected {}, f16 and 1 of {}", weights.group,
          text_in(weights.scale_type), weights.has_zeros, group, type.name);
  } else if (weights.group != 0 && weights.group != 32 && weights.group != 64 && weights.group != 128) {
    throw refused_weights("group is {}: expected 32, 64, 128, or 0 for the whole row of weights", weights.group);
  }
  if (weights.group != 0 && weights.k % weights.group != 0)
    throw refused_weights(
        "group is {}: expected one that divides k, {}, or 0 for the whole row of weights", weights.group, weights.k);
  if (weights.has_zeros != 0 && has_codebook(type))
    throw refused_weights("has_zeros is {}: expected 0 of {}", weights.has_zeros, text_in(weights.type));
  if (weights.a_bits != 0 && weights.a_bits != 8 && weights.a_bits != 16)
    throw refused_weights("a_bits is {}: expected 8, 16, or 0 for 16", weights.a_bits);
  if (weights.a_bits == 8 && type.name != "s4" && type.name != "u4" && type.name != "e2m1")
    throw refused_weights("a_bits is 8 and type of weights {}: expected s4, u4 or e2m1", type.name);
  if (weights.experts < 0 || weights.experts > kMaxGroups)
    throw refused_weights("experts is {}: expected 0 to {}", weights.experts, kMaxGroups);
}

tilesmith_weights_sizes sizes_of(const tilesmith_weights& weights) {
  check_weights(weights);
  const tilesmith_weights_sizes one = sizes_of_one(weights);
  const auto experts = std::uint64_t(experts_of(weights));
  return {one.codes * experts, one.scales * experts, one.zeros * experts};
}

std::vector<RepackArgs> repack_args(
    const tilesmith_weights& weights, const tilesmith_weights_source& from, void* codes, void* scales, void* zeros) {
  check_weights(weights);
  name_of_format(from.format);
  const std::int64_t experts = experts_of(weights);
  const tilesmith_weights_sizes sizes = sizes_of_one(weights);
  std::vector<RepackArgs> all;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    tilesmith_weights_source its = from;
    its.codes = of_expert("codes", from.codes, expert, experts);
    its.scales = of_expert("scales", from.scales, expert, experts);
    its.zeros = of_expert("zeros", from.zeros, expert, experts);
    its.g_idx = of_expert("g_idx", from.g_idx, expert, experts);
    const auto behind = [&](void* made, std::uint64_t bytes) -> void* {
      return made == nullptr ? nullptr : static_cast<unsigned char*>(made) + std::uint64_t(expert) * bytes;
    };
    all.push_back(args_of_one(
        weights, its, behind(codes, sizes.codes), behind(scales, sizes.scales), behind(zeros, sizes.zeros)));
  }
  return all;
}

}  // namespace tilesmith::runtime
