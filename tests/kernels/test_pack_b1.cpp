#define SPACE tilesmith_packs_b1
#define PACKED_TYPE "b1s32"
#define OPERAND unsigned char
#define BITS 1
#define SIGNED false
#define WIDEN 0
#include "tests/kernels/sub_byte_pack.hpp"

TEST_CASE("bits packed as they are stored are whole, without what lies beside them, and read nowhere else") {
  check_packed<SPACE::SubByteCopy<false>>(false);
}
TEST_CASE("bits turned K-major are whole, without what lies beside them, and read nowhere else") {
  check_packed<SPACE::SubByteTurned<false>>(true);
}
