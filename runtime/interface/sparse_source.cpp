#include "runtime/interface/sparse_source.hpp"

#include <fmt/format.h>

namespace tilesmith::runtime {

std::string sparse_source(Scalar element) {
  const ElementFormat format = element_format(element);
  const std::size_t bytes = size_bytes(element);
  const char* storage = bytes == 1 ? "unsigned char" : bytes == 2 ? "unsigned short" : "unsigned";
  const unsigned sign = element == Scalar::u8 ? 0 : 1u << (8 * bytes - 1);
  return fmt::format(
      "namespace tilesmith {{\nusing Element = {};\nconstexpr unsigned kSign = {}u;\nconstexpr bool kTwosComplement = {};\n}}\n#define TILESMITH_ELEMENT_FORMAT {{{}, {}, {}, {}, {}}}\n#include \"kernels/sparse/sparse.cu\"\n",
      storage, sign, element == Scalar::s8, format.bytes, format.exponent_bits, format.fraction_bits, format.has_sign, format.has_infinity);
}

}  // namespace tilesmith::runtime
