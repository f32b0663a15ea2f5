// What calls of cuBLAS become: for each, the problem that has to reach libtilesmith.
#include "tests/cublas_shim/client_calls.hpp"

void types() {
  TAKES(gemm_ex(64), "f16f32f16 NT 5 3 64");
  EXPECT(last_operand(TILESMITH_A) == kB && last_operand(TILESMITH_B) == kA && last_operand(TILESMITH_C) == nullptr);
  EXPECT(last_operand(TILESMITH_D) == kC && last_operand(TILESMITH_ALPHA) == &kOne &&
         last_operand(TILESMITH_BETA) == &kZero);
  TAKES(gemm_ex(64, F16, F32), "f16f32 NT 5 3 64");
  TAKES(gemm_ex(64, BF16, BF16), "bf16f32bf16 NT 5 3 64");
  TAKES(gemm_ex(64, BF16, F32), "bf16f32 NT 5 3 64");
  TAKES(gemm_ex(64, F32, F32), "f32f32 NT 5 3 64");
  TAKES(gemm_ex(64, F32, F32, FAST_TF32), "tf32f32 NT 5 3 64");
  TAKES(gemm_ex(48, F32, F32, FAST_16BF), "tf32f32 NT 5 3 48");
  TAKES(gemm_ex(64, F64, F64, COMPUTE_64F, &kOneD, &kZeroD), "f64f64 NT 5 3 64");
  TAKES(gemm_ex(64, S8, S32, COMPUTE_32I, &kOneI, &kZeroI), "s8s32 NT 5 3 64");
  TAKES(gemm_ex(64, F16, F16, COMPUTE_16F, &kHalfH, &kZeroH), "f16f16 NT 5 3 64");
  EXPECT(last_alpha() == 0.5F);
  cublasSetMathMode(handle, 3);
  TAKES(gemm_ex(72, F32, F32), "tf32f32 NT 5 3 72");
  TAKES(f32_gemm(72), "tf32f32 NN 5 8 72");
  cublasSetMathMode(handle, 16);  // sums are never reduced in narrow types anyway
  TAKES(gemm_ex(80, F16, F16), "f16f32f16 NT 5 3 80");
  cublasSetMathMode(handle, 0);
}

void forms() {
  auto* const f = static_cast<float*>(kC);
  auto* const d = static_cast<double*>(kC);
  TAKES(cublasGemmEx_64(handle, N, T, 4, 6, 10, &kOne, kA, BF16, 9, kB, BF16, 7, &kTwo, kC, BF16, 5, COMPUTE_32F, -1),
      "bf16f32bf16 TN 6 4 10 lda=7 ldb=9 ldc=5 beta=any");
  EXPECT(last_operand(TILESMITH_C) == kC && last_operand(TILESMITH_D) == kC);
  TAKES(f32_gemm(12), "f32f32 NN 5 8 12");
  TAKES(cublasSgemm_v2_64(handle, T, T, 8, 5, 12, &kOne, f, 12, f, 5, &kZero, f, 8), "f32f32 TT 5 8 12");
  TAKES(cublasDgemm_v2(handle, N, N, 8, 5, 12, &kOneD, d, 8, d, 12, &kZeroD, d, 8), "f64f64 NN 5 8 12");
  TAKES(cublasDgemm_v2_64(handle, N, N, 8, 5, 14, &kOneD, d, 8, d, 14, &kZeroD, d, 8), "f64f64 NN 5 8 14");
  TAKES(cublasHgemm(handle, N, N, 8, 5, 12, &kOneH, kA, 8, kB, 12, &kZeroH, kC, 8), "f16f16 NN 5 8 12");
  TAKES(cublasHgemm_64(handle, N, N, 8, 5, 14, &kOneH, kA, 8, kB, 14, &kZeroH, kC, 8), "f16f16 NN 5 8 14");
  TAKES(
      cublasSgemmEx(handle, N, N, 8, 5, 12, &kOne, kA, F16, 8, kB, F16, 12, &kZero, kC, F16, 8), "f16f32f16 NN 5 8 12");
  TAKES(cublasSgemmEx_64(handle, N, N, 8, 5, 14, &kOne, kA, BF16, 8, kB, BF16, 14, &kZero, kC, F32, 8),
      "bf16f32 NN 5 8 14");
  const char* const strided = " batch=3 stride_a=200 stride_b=100 stride_c=300 batch_mode=strided";
  const auto with_strides = [&](const char* head) { return std::string(head) + strided; };
  TAKES(cublasGemmStridedBatchedEx(handle, N, N, 8, 5, 12, &kOne, kA, F16, 8, 100, kB, F16, 12, 200, &kZero, kC, F16, 8,
            300, 3, COMPUTE_32F, -1),
      with_strides("f16f32f16 NN 5 8 12"));
  TAKES(cublasGemmStridedBatchedEx_64(handle, N, N, 8, 5, 14, &kOne, kA, F16, 8, 100, kB, F16, 14, 200, &kZero, kC, F16,
            8, 300, 3, COMPUTE_32F, -1),
      with_strides("f16f32f16 NN 5 8 14"));
  TAKES(cublasSgemmStridedBatched(handle, N, N, 8, 5, 12, &kOne, f, 8, 100, f, 12, 200, &kZero, f, 8, 300, 3),
      with_strides("f32f32 NN 5 8 12"));
  TAKES(cublasSgemmStridedBatched_64(handle, N, N, 8, 5, 14, &kOne, f, 8, 100, f, 14, 200, &kZero, f, 8, 300, 3),
      with_strides("f32f32 NN 5 8 14"));
  TAKES(cublasDgemmStridedBatched(handle, N, N, 8, 5, 12, &kOneD, d, 8, 100, d, 12, 200, &kZeroD, d, 8, 300, 3),
      with_strides("f64f64 NN 5 8 12"));
  TAKES(cublasHgemmStridedBatched(handle, N, N, 8, 5, 12, &kOneH, kA, 8, 100, kB, 12, 200, &kZeroH, kC, 8, 300, 3),
      with_strides("f16f16 NN 5 8 12"));
  TAKES(cublasGemmStridedBatchedEx(handle, N, N, 8, 5, 15, &kOne, kA, F16, 8, 100, kB, F16, 15, 200, &kZero, kC, F16, 8,
            300, 1, COMPUTE_32F, -1),
      "f16f32f16 NN 5 8 15");  // a batch of one is none
  const void* const a[3] = {kA, kA, kA};
  void* const c[3] = {kC, kC, kC};
  const char* const pointers = " batch=3 batch_mode=pointers";
  TAKES(
      cublasGemmBatchedEx(handle, N, N, 8, 5, 12, &kOne, a, F16, 8, a, F16, 12, &kZero, c, F16, 8, 3, COMPUTE_32F, -1),
      std::string("f16f32f16 NN 5 8 12 align=2") + pointers);
  EXPECT(last_operand(TILESMITH_A) == a && last_operand(TILESMITH_D) == c);
  TAKES(cublasGemmBatchedEx_64(
            handle, N, N, 8, 5, 14, &kOne, a, F16, 8, a, F16, 14, &kZero, c, F32, 8, 3, COMPUTE_32F, -1),
      std::string("f16f32 NN 5 8 14 align=4") + pointers);
  TAKES(cublasSgemmBatched(handle, N, N, 8, 5, 12, &kOne, (const float* const*)a, 8, (const float* const*)a, 12, &kZero,
            (float* const*)c, 8, 3),
      std::string("f32f32 NN 5 8 12 align=4") + pointers);
  TAKES(cublasDgemmBatched_64(handle, N, N, 8, 5, 12, &kOneD, (const double* const*)a, 8, (const double* const*)a, 12,
            &kZeroD, (double* const*)c, 8, 3),
      std::string("f64f64 NN 5 8 12 align=8") + pointers);
  TAKES(cublasHgemmBatched(handle, N, N, 8, 5, 12, &kOneH, a, 8, a, 12, &kZeroH, c, 8, 3),
      std::string("f16f16 NN 5 8 12 align=2") + pointers);
  // Alignment is part of the key; so is where alpha and beta lie.
  TAKES(cublasGemmEx(
            handle, T, N, 3, 5, 64, &kOne, (char*)kA + 4, F16, 64, kB, F16, 64, &kZero, kC, F16, 3, COMPUTE_32F, -1),
      "f16f32f16 NT 5 3 64 align=4");
  cublasSetPointerMode_v2(handle, 1);
  TAKES(gemm_ex(64), "f16f32f16 NT 5 3 64 beta=any scalars=device");
  cublasSetPointerMode_v2(handle, 0);
}

void matmuls() {
  TAKES(Matmul(12)(), "bf16f32bf16 NN 5 8 12");
  Matmul biased(12);
  biased.set(7, 4);
  biased.set(8, (const void*)memory);
  TAKES(biased(), "bf16f32bf16 NN 5 8 12 epilogue=bias_n");
  EXPECT(last_operand(TILESMITH_BIAS) == memory);
  biased.set(7, 4 | 2);
  TAKES(biased(), "bf16f32bf16 NN 5 8 12 epilogue=bias_n+relu");
  biased.set(7, 4 | 32);
  biased.set(26, F32);
  TAKES(biased(), "bf16f32bf16 NN 5 8 12 epilogue=bias_n_f32+gelu_tanh");
  Matmul apart(14);
  apart.beta = &kTwo;
  apart.c = kA;
  TAKES(apart(), "bf16f32bf16 NN 5 8 14 beta=any epilogue=c_apart");
  EXPECT(last_operand(TILESMITH_C) == kA && last_operand(TILESMITH_D) == kC);
  apart.set(7, 2);
  TAKES(apart(), "bf16f32bf16 NN 5 8 14 beta=any epilogue=relu");
  Matmul transposed(8);  // A as 8 x 8
  transposed.set(3, T);
  TAKES(transposed(), "bf16f32bf16 NT 5 8 8");
  const int row_major = 1;
  cublasLtMatrixLayoutSetAttribute(transposed.a, 1, &row_major, 4);
  TAKES(transposed(), "bf16f32bf16 NN 5 8 8");
  Matmul batch(12);
  const int three = 3;
  const std::int64_t strides[] = {100, 200, 300};
  void* const layouts[] = {batch.a, batch.b, batch.d};
  for (int i = 0; i < 3; ++i) {
    cublasLtMatrixLayoutSetAttribute(layouts[i], 5, &three, 4);
    cublasLtMatrixLayoutSetAttribute(layouts[i], 6, &strides[i], 8);
  }
  TAKES(batch(), "bf16f32bf16 NN 5 8 12 batch=3 stride_a=200 stride_b=100 stride_c=300 batch_mode=strided");
  Matmul eight_bit(16, E4M3, BF16);
  eight_bit.set(17, (const void*)kA);
  eight_bit.set(18, (const void*)kB);
  eight_bit.set(25, std::int8_t{1});
  TAKES(eight_bit(), "e4m3f32bf16 NN 5 8 16 epilogue=scale_m1+scale_n1");
  EXPECT(last_operand(TILESMITH_SCALE_M) == kB && last_operand(TILESMITH_SCALE_N) == kA);
  eight_bit.set(31, 3);
  eight_bit.set(32, 3);
  TAKES(eight_bit(), "e4m3f32bf16 NN 5 8 16 epilogue=scale_m+scale_n");
  TAKES(Matmul(12, F32, F32, FAST_TF32)(), "tf32f32 NN 5 8 12");

  eight_bit.set(25, std::int8_t{0});
  biased.set(7, 4 | 128);
  const int before = runs();
  for (int i = 0; i < 50; ++i) {
    EXPECT(eight_bit() == 0 && biased() == 0);
    usleep(1000);
  }
  EXPECT(runs() == before);
  Matmul crooked(12);  // of which cuBLASLt says what is wrong
  cublasLtMatrixLayoutCreate(&crooked.b, BF16, 13, 5, 13);
  for (int i = 0; i < 3; ++i) crooked();
  EXPECT(runs() == before);
  const int calls = stand_in_cublaslt_calls();
  biased();
  EXPECT(stand_in_cublaslt_calls() == calls + 1);
}

void block_scales() {
  const BlockScaled usual(512);
  TAKES(usual(), "e4m3f32bf16 NT 12 8 512 epilogue=scale_m_1x128+scale_n_128x128");
  EXPECT(last_operand(TILESMITH_A) == kB && last_operand(TILESMITH_SCALE_M) == kB);
  EXPECT(last_operand(TILESMITH_B) == kA && last_operand(TILESMITH_SCALE_N) == kA);
  TAKES(BlockScaled(400, VEC128, BLK128x128)(), "e4m3f32bf16 NT 12 8 400 epilogue=scale_m_128x128+scale_n_1x128");
  TAKES(BlockScaled(640, VEC128, VEC128, F32)(), "e4m3f32 NT 12 8 640 epilogue=scale_m_1x128+scale_n_1x128");
  BlockScaled with_terms(512, VEC128, VEC128, F16);
  with_terms.beta = &kTwo;
  with_terms.set(7, 4 | 2);
  with_terms.set(8, (const void*)memory);
  with_terms.set(25, std::int8_t{1});
  TAKES(with_terms(), "e4m3f32f16 NT 12 8 512 beta=any epilogue=scale_m_1x128+scale_n_1x128+bias_n+relu");

  // Forwarded, each for a reason that run.sh looks for.
  const int before = runs();
  EXPECT(BlockScaled(640)() == 0 && BlockScaled(384, VEC128, BLK128x128)() == 0);  // 5 and 3 blocks along K
  EXPECT(BlockScaled(512, BLK128x128, BLK128x128)() == 0);
  BlockScaled off(512);
  off.set(18, (const void*)(memory + 4));  // an address that cuBLASLt refuses
  EXPECT(off() == 0);
  BlockScaled narrow(512);
  cublasLtMatrixLayoutCreate(&narrow.b, E4M3, 512, 10, 512);
  cublasLtMatrixLayoutCreate(&narrow.d, BF16, 8, 10, 8);
  EXPECT(narrow() == 0);
  BlockScaled batch(512);
  const int three = 3;
  for (void* layout : {batch.a, batch.b, batch.d}) cublasLtMatrixLayoutSetAttribute(layout, 5, &three, 4);
  EXPECT(batch() == 0);
  BlockScaled by_rows(512);
  const int row_major = 1;
  cublasLtMatrixLayoutCreate(&by_rows.a, E4M3, 8, 512, 512);
  cublasLtMatrixLayoutSetAttribute(by_rows.a, 1, &row_major, 4);
  by_rows.set(3, N);
  EXPECT(by_rows() == 0);
  EXPECT(BlockScaled(512, 2, 2)() == 0 && BlockScaled(512, VEC128, 3)() == 0 && BlockScaled(512, 0, VEC128)() == 0);
  BlockScaled of_d(512);
  of_d.set(20, (const void*)memory);
  EXPECT(of_d() == 0);
  EXPECT(runs() == before);
}
