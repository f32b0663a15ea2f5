// What the shim knows of cuBLAS's binary interface: numbers, and what its functions take. Of CUDA 12 and 13, which
// agree in all of it. NVIDIA's headers are not needed. Names are those of cublas_api.h, cublasLt.h and library_types.h.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;

namespace tilesmith::cublas {

using Handle = void*;      // cublasHandle_t, cublasLtHandle_t
using Descriptor = void*;  // cublasLtMatmulDesc_t, cublasLtMatrixLayout_t
using Stream = CUstream_st*;
using Status = int;  // cublasStatus_t

inline constexpr Status kSuccess = 0, kNotInitialized = 1, kNotSupported = 15;

// cublasOperation_t
inline constexpr int kOpN = 0, kOpT = 1, kOpC = 2;
// cublasPointerMode_t, cublasLtPointerMode_t
inline constexpr int kPointersToHost = 0, kPointersToDevice = 1;

// cublasMath_t. Above the low bits stands whether sums may be reduced in narrow types, which ours never are.
inline constexpr int kMathBits = 0xF, kDefaultMath = 0, kTensorOpMath = 1, kPedanticMath = 2, kTf32Math = 3;

// cublasComputeType_t
inline constexpr int kCompute16F = 64, kCompute32F = 68, kCompute64F = 70, kCompute32I = 72, kCompute32FFast16F = 74,
                     kCompute32FFast16BF = 75, kCompute32FFastTf32 = 77;

// cudaDataType_t
inline constexpr int kF32 = 0, kF64 = 1, kF16 = 2, kS8 = 3, kU8 = 8, kS32 = 10, kBf16 = 14, kE4m3 = 28, kE5m2 = 29;

// cublasLtMatmulDescAttributes_t
inline constexpr int kDescComputeType = 0, kDescScaleType = 1, kDescPointerMode = 2, kDescTransA = 3, kDescTransB = 4,
                     kDescEpilogue = 7, kDescBiasPointer = 8, kDescBiasBatchStride = 10, kDescSmCountTarget = 15,
                     kDescScaleA = 17, kDescScaleB = 18, kDescScaleC = 19, kDescScaleD = 20, kDescAmaxD = 21,
                     kDescFastAccum = 25, kDescBiasType = 26, kDescScaleModeA = 31, kDescScaleModeB = 32;
// cublasLtMatmulMatrixScale_t; the last two since 12.9
inline constexpr int kScaleOne = 0, kScaleEach = 3, kScale1x128 = 4, kScale128x128 = 5;
// cublasLtEpilogue_t
inline constexpr int kEpilogueNone = 1, kEpilogueRelu = 2, kEpilogueBias = 4, kEpilogueGelu = 32;

// cublasLtMatrixLayoutAttribute_t
inline constexpr int kLayoutType = 0, kLayoutOrder = 1, kLayoutRows = 2, kLayoutCols = 3, kLayoutLd = 4,
                     kLayoutBatchCount = 5, kLayoutBatchStride = 6, kLayoutBatchMode = 8;
// cublasLtOrder_t
inline constexpr int kOrderCol = 0, kOrderRow = 1;
// cublasLtMatrixLayoutOpaque_t: its size is part of the interface, its fields are not.
inline constexpr std::size_t kLayoutBytes = 64;

}  // namespace tilesmith::cublas
