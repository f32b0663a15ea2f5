#define SPACE tilesmith_packs_b1xor
#define PACKED_TYPE "b1xors32"
#define OPERAND unsigned char
#define BITS 1
#define SIGNED false
#define WIDEN 2
#include "tests/kernels/sub_byte_pack.hpp"

TEST_CASE(
    "bits and their complements packed as they are stored are whole, without what lies beside them, and read nowhere else") {
  check_packed<SPACE::SubByteCopy<false>>(false);
}
TEST_CASE("bits and their complements turned K-major are whole, without what lies beside them, and read nowhere else") {
  check_packed<SPACE::SubByteTurned<false>>(true);
}
