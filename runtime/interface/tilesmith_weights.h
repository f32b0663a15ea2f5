/* Quantised weights of 4 or 8 bits. The functions here convert what GPTQ, AWQ, GGUF, MXFP4, bitsandbytes and others
 * store into the layout that kernels read; do it once, when a model is loaded. docs/library.md describes the formats.
 * Errors, threads and contexts: as in tilesmith.h.
 *
 *   tilesmith_weights made;
 *   tilesmith_weights_source from;
 *   tilesmith_weights_sizes sizes;
 *   tilesmith_weights_init(&made, "u4", n, k, 128, "f16", 1);
 *   tilesmith_weights_bytes(&made, &sizes);                    allocate codes, scales and zeros: sizes.codes bytes, ...
 *   tilesmith_weights_source_init(&from, TILESMITH_WEIGHTS_AWQ);
 *   from.codes = (tilesmith_array){qweight, k, n / 8, "s32"};  ...
 *   tilesmith_weights_repack(library, stream, &made, &from, codes, scales, zeros);
 *
 * To multiply by such weights, set a problem's `weights` to a text such as "u4_g128+zeros": the type, the group (_g32,
 * _g64, _g128 or _column), +zeros if there are zeros, and +f32 if scales and zeros are f32 rather than of A's type.
 * The problem's type must be f16f32f16 or bf16f32bf16 and its transposes NT or TT (NT if it is grouped). For weights of
 * s4, u4 and e2m1 it may also be e4m3f32, e4m3f32f16, e4m3f32bf16, s8s32f16 or s8s32bf16. Strided and pointer batches
 * and scalars in device memory are not supported. In a grouped problem each group (expert) has its own weights.
 *
 * Weights made for an A of 16 bits give wrong results with an A of 8 bits, and the reverse: the codes are in another
 * order. Set `a_bits` to 8 to make them for e4m3 and s8. Scales and zeros then have D's type, or are f32 with +f32,
 * which e4m3f32 needs. Zeros must then be whole numbers that have a code: -8 to 7 (s4) or 0 to 15 (u4).
 *
 * W is [n][k], one row for each output. An element of W is scale[k / group][n] * (v - zero[k / group][n]), where v is
 * the value that its code stands for.
 *
 * GGUF's Q4_K is "q4_k", the whole text in a problem: it has no group, no +zeros and no +f32. k must be a multiple of
 * 256, and A must be f16 or bf16. Codes v (0 to 15) lie as those of u4. Scales are [k / 32][n] pairs of bytes, s and
 * then m, and zeros are [k / 256][n] pairs of f16, d and then dmin. An element of W is d * s * v - dmin * m, with s and m
 * of k / 32 and d and dmin of k / 256. Kernels compute it in f32. Make it with group 32, scale_type "f16" and
 * has_zeros 1.
 *
 * GGUF's Q6_K is "q6_k" in the same way. Codes v + 32 (0 to 63) lie in two parts, see below. Scales are [k / 64][n] times
 * four signed bytes, s of 16 columns each, and zeros are [k / 256][n] of f16, d. An element of W is d * s * v, which
 * kernels compute in f32. Make it with group 16, scale_type "f16" and has_zeros 1.
 *
 * The layout, in case you write it yourself:
 * - The code of a value v is v + 8 (s4), v (u4, q4_k), v + 128 (s8), the bits of v (e4m3, e2m1), or the index of v in the
 *   ascending table of NF4's 16 values (nf4).
 * - Codes lie in blocks of 512 bytes. A block has 16 rows and 64 columns (4 bits) or 32 columns (8 bits; below, what
 *   differs for 8 bits is in parentheses). Block (i, j) begins at row 16i and column 64j (32j) of W, and at byte 512 *
 *   (i * ceil(k / 64) + j) of the codes (ceil(k / 32)). Rows are padded to 16 and columns to 64 (32) by the code of 0.
 * - Lane l (0 to 31) of a warp reads the 16 bytes at 16 * l of a block. Let g = l / 4, t = l % 4, and c the first
 *   column of a step of 16 columns. The lane holds these pairs of values (lo, hi):
 *     a0: row g,     columns c + 2t, c + 2t + 1.        a2: row g,     columns c + 2t + 8, c + 2t + 9.
 *     a1: row g + 8, columns c + 2t, c + 2t + 1.        a3: row g + 8, columns c + 2t + 8, c + 2t + 9.
 *   4 bits: little-endian word s (0 to 3) holds the step at c = 64j + 16s. Its nibble i < 4 (bits 4i to 4i + 3) is
 *           a_i.lo, and nibble i + 4 is a_i.hi.
 *   8 bits: words 2s and 2s + 1 hold the step at c = 32j + 16s. The bytes of word 2s are a0.lo, a0.hi, a1.lo, a1.hi,
 *           those of word 2s + 1 are the same of a2 and a3.
 *   q6_k:   a block has 768 bytes. Its first 512 are a block of 4 bits, of the lower four bits of codes. Then lane l has
 *           the 8 bytes at 512 + 8 * l, two little-endian words, for the upper two bits of its codes. Those of a_i of
 *           step s are in word s / 2, from bit 8 * (s % 2) + 4 * (i % 2) + 2 * (i / 2) on (lo), and 16 bits higher (hi).
 * - With an A of 8 bits, blocks, codes and padding are the same, but steps have 32 columns. Little-endian words 2s and
 *   2s + 1 (s is 0 or 1) hold the step at c = 64j + 32s:
 *     word 2s:      nibbles 0 to 3: row g, columns c + 4t to c + 4t + 3.        Nibbles 4 to 7: row g + 8, the same.
 *     word 2s + 1:  nibbles 0 to 3: row g, columns c + 4t + 16 to c + 4t + 19.  Nibbles 4 to 7: row g + 8, the same.
 * - Scales and zeros are [ceil(k / group)][n], row-major, packed (q4_k and q6_k: as above).
 * - Experts follow each other: the codes of expert e begin at byte e * 512 * ceil(n / 16) * ceil(k / 64) (ceil(k /
 *   32); of q6_k 768 instead of 512), and scales and zeros are [experts][ceil(k / group)][n].
 * - Codes are aligned to 16 bytes. In a run, codes, scales and zeros must all have the alignment of the problem's A.
 */
#ifndef TILESMITH_WEIGHTS_H
#define TILESMITH_WEIGHTS_H

#include "tilesmith.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The weights to make. Fill it with tilesmith_weights_init. */
typedef struct tilesmith_weights {
  size_t size;          /* sizeof(tilesmith_weights) */
  char type[8];         /* "s4", "u4", "s8", "e4m3", "e2m1", "nf4", "q4_k" or "q6_k"; the rest 0 */
  int64_t n, k;         /* rows and columns of W: outputs and inputs */
  int64_t group;        /* columns that share a scale: 32, 64 or 128 (q6_k: 16), k a multiple; 0: a row of W has one scale */
  char scale_type[8];   /* type of scales and zeros: "f16", "bf16" or "f32" */
  int32_t has_zeros;    /* not 0: there are zeros, which are subtracted; e2m1 and nf4 have none */
  int32_t experts;      /* number of such matrices, up to 65536; 0 (the initial value) means one */
  int32_t a_bits;       /* size of A's elements: 16 (or 0, the initial value), or 8, for s4, u4 and e2m1 */
} tilesmith_weights;

typedef struct tilesmith_weights_sizes {
  /* in bytes, for all experts together */
  uint64_t codes;  /* for each expert 512 * ceil(n / 16) * ceil(k / 64), or ceil(k / 32) if codes have 8 bits; of q6_k 768 for 512 */
  uint64_t scales; /* [groups][n] for each expert */
  uint64_t zeros;  /* as scales; 0 if there are none; of q4_k [k / 256][n] pairs of f16, of q6_k [k / 256][n] of f16 */
} tilesmith_weights_sizes;

typedef enum tilesmith_weights_format {
  /* One code a byte, codes are [n][k]. Array types: "s8" holds elements (for s4 and s8). "u8" holds codes (for u4,
   * e2m1, nf4, for s4 as v + 8 and for s8 as v + 128). e4m3 may be "e4m3" or "u8". */
  TILESMITH_WEIGHTS_BYTES = 0,
  /* Two codes a byte, codes are [n][(k + 1) / 2] bytes, the lower column in the lower four bits. Array types: "s4"
   * holds elements in two's complement; "u4" holds codes, also those of e2m1 and nf4. */
  TILESMITH_WEIGHTS_NIBBLES = 1,
  /* AutoGPTQ, 4 bits: qweight "s32" [k / 8][n], qzeros "s32" [groups][n / 8], scales [groups][n], g_idx "s32" [1][k].
   * 8 bits: qweight [k / 4][n], qzeros [groups][n / 4].
   * - 1 is added to each zero, modulo 16 (256 for 8 bits), as version 1 of the format wants. Version 2 stores the same
   *   zeros without that offset; if after the addition all zeros are 9 (129), the file is taken for one of version 2
   *   and refused.
   * - Make type u4 with zeros, or s4 without zeros if all zeros are 8. If you give qzeros for s4, that is checked.
   *   8 bits: type s8.
   * - A g_idx that does not follow the order of the groups (act-order) is refused. */
  TILESMITH_WEIGHTS_GPTQ = 2,
  TILESMITH_WEIGHTS_GPTQ_V2 = 3, /* version 2 of GPTQ's format: as above, but nothing is added to qzeros */
  /* AWQ: qweight "s32" [k][n / 8], each word has columns 0 2 4 6 1 3 5 7 from its lowest four bits on; qzeros "s32"
   * [groups][n / 8] in the same order; scales [groups][n]. Make type u4 with zeros. */
  TILESMITH_WEIGHTS_AWQ = 4,
  /* GGUF: codes "u8" [n][k / 32 * 18]. A block has an f16 scale and 32 elements of 4 bits, stored plus 8. Make type s4
   * with groups of 32. */
  TILESMITH_WEIGHTS_Q4_0 = 5,
  /* GGUF: codes "u8" [n][k / 32 * 34]. A block has an f16 scale and 32 signed bytes. Make type s8 with groups of 32. */
  TILESMITH_WEIGHTS_Q8_0 = 6,
  /* MXFP4: codes "u4" [n][k / 2] are e2m1 floats, the lower column in the lower four bits; scales "u8" [n][k / 32] are
   * powers of two (ue8m0). Make type e2m1 with groups of 32, or e4m3, which holds the same values in twice the bytes.
   * f16 scales cannot hold every power of two: a scale that does not fit is refused. */
  TILESMITH_WEIGHTS_MXFP4 = 7,
  /* NF4 of bitsandbytes: codes "u8" [n * k / 2][1] or [n][k / 2], the lower column in the UPPER four bits; scales "f32"
   * are absmax, one for each block of `group` columns, as [1][n * groups], [n * groups][1] or [n][groups]. With double
   * quantisation, decode absmax first: code[absmax_8bit[i]] * absmax2[i / 256] + offset. Make type nf4; k must be a
   * multiple of the group, which is bitsandbytes' blocksize. */
  TILESMITH_WEIGHTS_BNB_NF4 = 8,
  /* GGUF: codes "u8" [n][k / 256 * 144]. A block has d and dmin (f16), scales and minima of 6 bits for each 32 columns,
   * and 256 elements of 4 bits. Make type q4_k. A d or dmin that is infinite or NaN is refused. */
  TILESMITH_WEIGHTS_Q4_K = 9,
  /* GGUF: codes "u8" [n][k / 256 * 210]. A block has d (f16), signed scales of 8 bits for each 16 columns, and 256
   * elements of 6 bits, stored plus 32. Make type q6_k. A d that is infinite or NaN is refused. */
  TILESMITH_WEIGHTS_Q6_K = 10
} tilesmith_weights_format;

/* A matrix, row-major, packed. Types: "f16", "bf16", "f32", "s32", "s8", "u8", "s4", "u4", "e4m3". If data is NULL,
 * there is no such matrix. */
typedef struct tilesmith_array {
  const void* data;
  int64_t rows, columns;
  char type[8];
} tilesmith_array;

/* The weights to read. Fill it with tilesmith_weights_source_init, then set the fields by name. With several experts,
 * an array has the rows of the first expert, then those of the second, and so on; `rows` counts all of them. */
typedef struct tilesmith_weights_source {
  size_t size;
  int32_t format;         /* a tilesmith_weights_format */
  /* not 0: all arrays, inputs and outputs, are in host memory, and no device is used; initially 0 */
  int32_t on_host;
  tilesmith_array codes;
  /* [groups][n]; with BYTES and NIBBLES also [n][groups]. "f16", "bf16" or "f32". Blocks of GGUF have none */
  tilesmith_array scales;
  tilesmith_array zeros;  /* if weights have zeros; with BYTES and NIBBLES as scales, or "u8", "s8" or "s32" */
  tilesmith_array g_idx;  /* GPTQ only; optional */
} tilesmith_weights_source;

/* Fill a struct. Unknown types, sizes and groups are refused; the struct is then all 0. */
tilesmith_status tilesmith_weights_init(tilesmith_weights* weights, const char* type, int64_t n, int64_t k,
                                        int64_t group, const char* scale_type, int32_t has_zeros);
tilesmith_status tilesmith_weights_source_init(tilesmith_weights_source* source, int32_t format);

/* How many bytes codes, scales and zeros need. */
tilesmith_status tilesmith_weights_bytes(const tilesmith_weights* weights, tilesmith_weights_sizes* sizes);

/* Enqueues the conversion. Do not call it while the calling thread captures a stream. Outputs must not overlap inputs,
 * `codes` must be aligned to 16 bytes, and `zeros` is NULL if there are none. The first call of a library compiles the
 * kernels by NVRTC (TILESMITH_NO_KERNEL if NVRTC is missing). The call waits for the stream if it has to check g_idx,
 * zeros, factors of Q4_K and Q6_K, or scales of a wider type that become f16; with a_bits 8 it checks all zeros that are not
 * packed. With on_host, the library may be
 * NULL, the stream is not used, and the work is done when the call returns. */
tilesmith_status tilesmith_weights_repack(tilesmith_library* library, struct CUstream_st* stream,
                                          const tilesmith_weights* weights, const tilesmith_weights_source* source,
                                          void* codes, void* scales, void* zeros);

#ifdef __cplusplus
}
#endif

#endif
