#define SPACE tilesmith_packs_s4
#define PACKED_TYPE "s4s32"
#define OPERAND signed char
#define BITS 4
#define SIGNED true
#define WIDEN 1
#include "tests/kernels/sub_byte_pack.hpp"

TEST_CASE(
    "s4 that become bytes as they are packed as they are stored are whole, without what lies beside them, and read nowhere else") {
  check_packed<SPACE::SubByteCopy<false>>(false);
}
TEST_CASE(
    "s4 that become bytes as they are turned K-major are whole, without what lies beside them, and read nowhere else") {
  check_packed<SPACE::SubByteTurned<false>>(true);
}
