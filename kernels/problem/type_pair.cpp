#include "kernels/problem/type_pair.hpp"

#include <array>

namespace tilesmith {
namespace {

constexpr std::array kTypePairs{
    TypePair{"f16f32", Scalar::f16, Scalar::f16, Scalar::f32, Scalar::f32, Scalar::f32},
    TypePair{"f16f16", Scalar::f16, Scalar::f16, Scalar::f16, Scalar::f16, Scalar::f32},
    TypePair{"f16f32f16", Scalar::f16, Scalar::f16, Scalar::f32, Scalar::f16, Scalar::f32},
    TypePair{"bf16f32", Scalar::bf16, Scalar::bf16, Scalar::f32, Scalar::f32, Scalar::f32},
    TypePair{"bf16f32bf16", Scalar::bf16, Scalar::bf16, Scalar::f32, Scalar::bf16, Scalar::f32},
    TypePair{"tf32f32", Scalar::tf32, Scalar::tf32, Scalar::f32, Scalar::f32, Scalar::f32},
    TypePair{"s8s32", Scalar::s8, Scalar::s8, Scalar::s32, Scalar::s32, Scalar::s32},
    TypePair{"u8s32", Scalar::u8, Scalar::u8, Scalar::s32, Scalar::s32, Scalar::s32},
    TypePair{"s4s32", Scalar::s4, Scalar::s4, Scalar::s32, Scalar::s32, Scalar::s32},
    TypePair{"u4s32", Scalar::u4, Scalar::u4, Scalar::s32, Scalar::s32, Scalar::s32},
    TypePair{"b1s32", Scalar::b1, Scalar::b1, Scalar::s32, Scalar::s32, Scalar::s32},
    TypePair{"b1xors32", Scalar::b1xor, Scalar::b1xor, Scalar::s32, Scalar::s32, Scalar::s32},
    TypePair{"s8s32f16", Scalar::s8, Scalar::s8, Scalar::s32, Scalar::f16, Scalar::f32},
    TypePair{"s8s32bf16", Scalar::s8, Scalar::s8, Scalar::s32, Scalar::bf16, Scalar::f32},
    TypePair{"s8s32s8", Scalar::s8, Scalar::s8, Scalar::s32, Scalar::s8, Scalar::f32},
    TypePair{"u8s32s8", Scalar::u8, Scalar::u8, Scalar::s32, Scalar::s8, Scalar::f32},
    TypePair{"u8s32f16", Scalar::u8, Scalar::u8, Scalar::s32, Scalar::f16, Scalar::f32},
    TypePair{"u8s32bf16", Scalar::u8, Scalar::u8, Scalar::s32, Scalar::bf16, Scalar::f32},
    TypePair{"e4m3f32", Scalar::e4m3, Scalar::e4m3, Scalar::f32, Scalar::f32, Scalar::f32},
    TypePair{"e4m3f32bf16", Scalar::e4m3, Scalar::e4m3, Scalar::f32, Scalar::bf16, Scalar::f32},
    TypePair{"e4m3f32f16", Scalar::e4m3, Scalar::e4m3, Scalar::f32, Scalar::f16, Scalar::f32},
    TypePair{"e4m3f32e4m3", Scalar::e4m3, Scalar::e4m3, Scalar::f32, Scalar::e4m3, Scalar::f32},
    TypePair{"e5m2f32", Scalar::e5m2, Scalar::e5m2, Scalar::f32, Scalar::f32, Scalar::f32},
    TypePair{"e5m2f32bf16", Scalar::e5m2, Scalar::e5m2, Scalar::f32, Scalar::bf16, Scalar::f32},
    TypePair{"e5m2f32f16", Scalar::e5m2, Scalar::e5m2, Scalar::f32, Scalar::f16, Scalar::f32},
    TypePair{"e5m2f32e4m3", Scalar::e5m2, Scalar::e5m2, Scalar::f32, Scalar::e4m3, Scalar::f32},
    TypePair{"f64f64", Scalar::f64, Scalar::f64, Scalar::f64, Scalar::f64, Scalar::f64},
    TypePair{"f32f32", Scalar::f32, Scalar::f32, Scalar::f32, Scalar::f32, Scalar::f32},
    TypePair{"f32x3f32", Scalar::f32x3, Scalar::f32x3, Scalar::f32, Scalar::f32, Scalar::f32},
};

struct ScalarTraits {
  std::string_view name;
  std::size_t bits;
  bool integer;
};

constexpr ScalarTraits traits(Scalar scalar) {
  switch (scalar) {
    case Scalar::f16: return {"f16", 16, false};
    case Scalar::bf16: return {"bf16", 16, false};
    case Scalar::tf32: return {"tf32", 32, false};
    case Scalar::f32: return {"f32", 32, false};
    case Scalar::f32x3: return {"f32x3", 32, false};
    case Scalar::f64: return {"f64", 64, false};
    case Scalar::s8: return {"s8", 8, true};
    case Scalar::u8: return {"u8", 8, true};
    case Scalar::s32: return {"s32", 32, true};
    case Scalar::e4m3: return {"e4m3", 8, false};
    case Scalar::e5m2: return {"e5m2", 8, false};
    case Scalar::s4: return {"s4", 4, true};
    case Scalar::u4: return {"u4", 4, true};
    case Scalar::b1: return {"b1", 1, true};
    case Scalar::b1xor: return {"b1xor", 1, true};
  }
  return {"?", 0, false};
}

}  // namespace

std::size_t size_bits(Scalar scalar) { return traits(scalar).bits; }
std::size_t size_bytes(Scalar scalar) { return (traits(scalar).bits + 7) / 8; }
std::int64_t storage_bytes(Scalar scalar, std::int64_t elements) {
  return (elements * std::int64_t(size_bits(scalar)) + 7) / 8;
}
std::string_view name(Scalar scalar) { return traits(scalar).name; }
bool is_integer(Scalar scalar) { return traits(scalar).integer; }
bool is_fp8(Scalar scalar) { return scalar == Scalar::e4m3 || scalar == Scalar::e5m2; }

std::span<const TypePair> type_pairs() { return kTypePairs; }

const TypePair* find_type_pair(std::string_view name) {
  for (const TypePair& pair : kTypePairs) {
    if (pair.name == name) return &pair;
  }
  return nullptr;
}

std::string type_pair_names() {
  std::string names;
  for (const TypePair& pair : kTypePairs) names.append(names.empty() ? "" : ", ").append(pair.name);
  return names;
}

std::string unknown_type_pair(std::string_view name) {
  return std::string("unknown type pair '").append(name).append("': expected one of ").append(type_pair_names());
}

}  // namespace tilesmith
