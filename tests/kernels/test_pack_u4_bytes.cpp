#define SPACE tilesmith_packs_u4_bytes
#define PACKED_TYPE "u4s32"
#define OPERAND unsigned char
#define BITS 4
#define SIGNED false
#define WIDEN 1
#include "tests/kernels/sub_byte_pack.hpp"

TEST_CASE(
    "u4 that become bytes as they are packed as they are stored are whole, without what lies beside them, and read nowhere else") {
  check_packed<SPACE::SubByteCopy<false>>(false);
}
TEST_CASE(
    "u4 that become bytes as they are turned K-major are whole, without what lies beside them, and read nowhere else") {
  check_packed<SPACE::SubByteTurned<false>>(true);
}
