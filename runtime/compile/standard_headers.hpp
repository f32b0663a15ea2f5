// The standard headers that CUDA sources use, for NVRTC, which has none: users' kernels include them as with nvcc.
#pragma once

#include "kernels/families/embedded.hpp"

namespace tilesmith::runtime {

inline constexpr std::string_view kStdint =
    "#pragma once\n"
    "typedef signed char int8_t;\ntypedef short int16_t;\ntypedef int int32_t;\ntypedef long long int64_t;\n"
    "typedef unsigned char uint8_t;\ntypedef unsigned short uint16_t;\ntypedef unsigned uint32_t;\n"
    "typedef unsigned long long uint64_t;\ntypedef uint64_t uintptr_t;\n"
    "namespace std {\nusing ::int8_t;\nusing ::int16_t;\nusing ::int32_t;\nusing ::int64_t;\n"
    "using ::uint8_t;\nusing ::uint16_t;\nusing ::uint32_t;\nusing ::uint64_t;\n}\n";
inline constexpr std::string_view kMath =
    "#pragma once\n"
    "#define INFINITY __int_as_float(0x7f800000)\n#define NAN __int_as_float(0x7fffffff)\n"
    "#define M_PI 3.14159265358979323846\n#define M_E 2.71828182845904523536\n"
    "namespace std {\nusing ::abs;\nusing ::fabs;\nusing ::sqrt;\nusing ::cbrt;\nusing ::exp;\nusing ::exp2;\nusing ::log;\n"
    "using ::log2;\nusing ::log10;\nusing ::pow;\nusing ::sin;\nusing ::cos;\nusing ::tan;\nusing ::tanh;\nusing ::atan2;\n"
    "using ::erf;\nusing ::floor;\nusing ::ceil;\nusing ::round;\nusing ::trunc;\nusing ::fmod;\nusing ::fma;\nusing ::fmin;\n"
    "using ::fmax;\nusing ::hypot;\nusing ::isnan;\nusing ::isinf;\nusing ::isfinite;\n}\n";
inline constexpr std::string_view kFloat =
    "#define FLT_MAX 3.402823466e+38f\n#define FLT_MIN 1.175494351e-38f\n#define FLT_EPSILON 1.192092896e-07f\n"
    "#define DBL_MAX 1.7976931348623158e+308\n#define DBL_MIN 2.2250738585072014e-308\n"
    "#define DBL_EPSILON 2.2204460492503131e-16\n";
inline constexpr std::string_view kLimits =
    "#define CHAR_BIT 8\n#define INT_MAX 2147483647\n#define INT_MIN (-INT_MAX - 1)\n#define UINT_MAX 4294967295u\n"
    "#define LLONG_MAX 9223372036854775807ll\n#define LLONG_MIN (-LLONG_MAX - 1)\n"
    "#define ULLONG_MAX 18446744073709551615ull\n";
inline constexpr std::string_view kCub =  // its launchers, which CUDA 13's cub.cuh includes, are not for NVRTC
    "#include <cub/block/block_exchange.cuh>\n#include <cub/block/block_load.cuh>\n"
    "#include <cub/block/block_radix_sort.cuh>\n#include <cub/block/block_reduce.cuh>\n"
    "#include <cub/block/block_scan.cuh>\n#include <cub/block/block_store.cuh>\n"
    "#include <cub/warp/warp_reduce.cuh>\n#include <cub/warp/warp_scan.cuh>\n";

inline constexpr EmbeddedFile kStandardHeaders[] = {{"stdint.h", kStdint}, {"cstdint", kStdint}, {"math.h", kMath},
    {"cmath", kMath}, {"float.h", kFloat}, {"cfloat", kFloat}, {"limits.h", kLimits}, {"climits", kLimits},
    {"stdio.h", ""}, {"cstdio", ""}, {"assert.h", ""}, {"cassert", ""},  // NVRTC knows printf and assert itself
    {"limits", "#include <cuda/std/limits>\nnamespace std { using namespace cuda::std; }\n"},
    {"type_traits", "#include <cuda/std/type_traits>\nnamespace std { using namespace cuda::std; }\n"},
    {"utility", "#include <cuda/std/utility>\nnamespace std { using namespace cuda::std; }\n"}, {"cub/cub.cuh", kCub}};

}  // namespace tilesmith::runtime
