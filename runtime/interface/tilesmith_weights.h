/* Weights in 4 or 8 bits: repacks what GPTQ, AWQ, GGUF, MXFP4, bitsandbytes and others store into the layout that
 * kernels read, once, when a model is loaded. docs/library.md has the formats. Errors, threads and contexts: as in
 * tilesmith.h.
 *
 *   tilesmith_weights made;
 *   tilesmith_weights_source from;
 *   tilesmith_weights_sizes sizes;
 *   tilesmith_weights_init(&made, "u4", n, k, 128, "f16", 1);
 *   tilesmith_weights_bytes(&made, &sizes);                     allocate codes, scales and zeros: sizes.codes bytes, ...
 *   tilesmith_weights_source_init(&from, TILESMITH_WEIGHTS_AWQ);
 *   from.codes = (tilesmith_array){qweight, k, n / 8, "s32"};  ...
 *   tilesmith_weights_repack(library, stream, &made, &from, codes, scales, zeros);
 *
 * A product by them is a problem whose `weights` is "u4_g128+zeros": type, group (_g32, _g64, _g128 or _column),
 * +zeros, and +f32 if scales and zeros are f32, not A's type. Its type is f16f32f16 or bf16f32bf16, its transposes NT
 * or TT (of groups NT), with neither entries nor scalars on the device. In a grouped problem each group (expert) has
 * its own weights.
 *
 * W is [n][k]: a row for each output. Its value is scale[k / group][n] * (v - zero[k / group][n]), v an element of the
 * code.
 *
 * The layout, in case you write it yourself. The code of a value v is v + 8 (s4), v (u4), v + 128 (s8), its bits (e4m3,
 * e2m1), or its index in the ascending table of NF4's 16 values (nf4). Blocks of 512 bytes hold 16 rows x 64 columns (4
 * bits) or 16 rows x 32 columns (8 bits). Block (i, j), from row 16i and column 64j (32j), begins at byte 512 * (i *
 * ceil(k / 64) + j) (ceil(k / 32)). Rows are padded to 16 and columns to 64 (32) with the code of value 0. Lane l (0 to
 * 31) of a block has the 16 bytes at 16 * l. With g = l / 4, t = l % 4 and a step's first column c it holds pairs (lo,
 * hi):
 *   a0: row g,     columns c + 2t, c + 2t + 1.        a2: row g,     columns c + 2t + 8, c + 2t + 9.
 *   a1: row g + 8, columns c + 2t, c + 2t + 1.        a3: row g + 8, columns c + 2t + 8, c + 2t + 9.
 *   4 bits: little-endian word s (0 to 3) is the step c = 64j + 16s. Its nibble i < 4 (bits 4i to 4i + 3) is a_i.lo,
 *           nibble i + 4 is a_i.hi.
 *   8 bits: words 2s and 2s + 1 are the step c = 32j + 16s. Word 2s has bytes a0.lo, a0.hi, a1.lo, a1.hi, word 2s + 1
 *           those of a2 and a3.
 * Scales and zeros are [ceil(k / group)][n], row-major, packed. Experts lie one behind the other: codes of expert e
 * begin at byte e * 512 * ceil(n / 16) * ceil(k / 64) (ceil(k / 32)); scales and zeros are [experts][ceil(k /
 * group)][n]. Codes are aligned to 16 bytes; in a run all three are aligned as A.
 */
#ifndef TILESMITH_WEIGHTS_H
#define TILESMITH_WEIGHTS_H

#include "tilesmith.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is made. Fill it with tilesmith_weights_init. */
typedef struct tilesmith_weights {
  size_t size;          /* sizeof(tilesmith_weights) */
  char type[8];         /* "s4", "u4", "s8", "e4m3", "e2m1" or "nf4"; the rest 0 */
  int64_t n, k;         /* rows and columns of W: outputs and inputs */
  int64_t group;        /* columns that share a scale: 32, 64 or 128, which divides k; 0: the whole row of W has one */
  char scale_type[8];   /* of scales and zeros: "f16", "bf16" or "f32" */
  int32_t has_zeros;    /* not 0: zeros are subtracted from elements; 0 of e2m1 and nf4 */
  int32_t experts;      /* so many such matrices, one behind the other, up to 65536; 0, as at first: one */
} tilesmith_weights;

typedef struct tilesmith_weights_sizes {
  /* bytes, of all experts: 512 * ceil(n / 16) * ceil(k / 64), of 8 bits ceil(k / 32), times their number */
  uint64_t codes;
  uint64_t scales; /* bytes of [groups][n] */
  uint64_t zeros;  /* the same, or 0 */
} tilesmith_weights_sizes;

typedef enum tilesmith_weights_format {
  /* Codes one a byte, [n][k]: of "s8" elements (for s4 and s8), of "u8" codes (for u4, s4 + 8, s8 + 128), of "e4m3" or
   * "u8" for e4m3, of "u8" codes for e2m1 and nf4. */
  TILESMITH_WEIGHTS_BYTES = 0,
  /* Codes of 4 bits, [n][(k + 1) / 2] bytes, the lower column in the lower four bits: of "s4" elements as two's
   * complement, of "u4" codes (also those of e2m1 and nf4). */
  TILESMITH_WEIGHTS_NIBBLES = 1,
  /* AutoGPTQ: qweight "s32" [k / 8][n], qzeros "s32" [groups][n / 8], to whose values 1 is added modulo 16 (256),
   * scales [groups][n], g_idx "s32" [1][k]. Zeros that are 9 (129) everywhere then are refused: version 2 stores 8
   * (128) so. Type u4 with zeros; s4 without: zeros are then all 8, which is checked where qzeros is given. Of 8 bits
   * [k / 4][n], [groups][n / 4], s8. g_idx in another order than that of the groups (act-order) is refused. */
  TILESMITH_WEIGHTS_GPTQ = 2,
  TILESMITH_WEIGHTS_GPTQ_V2 = 3, /* the same, nothing is added to qzeros */
  /* AWQ: qweight "s32" [k][n / 8], from the lowest four bits columns 0 2 4 6 1 3 5 7; qzeros "s32" [groups][n / 8]
   * alike; scales [groups][n]. Type u4 with zeros. */
  TILESMITH_WEIGHTS_AWQ = 4,
  /* GGUF: codes "u8" [n][k / 32 * 18] are blocks of a scale of f16 and 32 elements in 4 bits, minus 8. Type s4, group
   * 32. */
  TILESMITH_WEIGHTS_Q4_0 = 5,
  TILESMITH_WEIGHTS_Q8_0 = 6, /* "u8" [n][k / 32 * 34]: a scale of f16 and 32 signed bytes. Type s8, group 32 */
  /* MXFP4: codes "u4" [n][k / 2] are floats e2m1, the lower column low; scales "u8" [n][k / 32] powers of two (ue8m0).
   * Type e2m1 as they are, or e4m3, which holds them exactly in twice the bytes; group 32. A scale_type of f16 does not
   * hold every power of two: one that it does not hold is refused. */
  TILESMITH_WEIGHTS_MXFP4 = 7,
  /* NF4 of bitsandbytes: codes "u8" [n * k / 2][1] or [n][k / 2], the lower column in the upper four bits; scales "f32"
   * are absmax, one for each `group` columns, [1][n * groups], [n * groups][1] or [n][groups]. Where bitsandbytes has
   * quantised absmax too (double quantisation), give it decoded: code[absmax_8bit[i]] * absmax2[i / 256] + offset. Type
   * nf4; k is a multiple of the group, its blocksize. */
  TILESMITH_WEIGHTS_BNB_NF4 = 8
} tilesmith_weights_format;

/* A matrix, row-major, packed. type: "f16", "bf16", "f32", "s32", "s8", "u8", "s4", "u4", "e4m3". data NULL: there is
 * none. */
typedef struct tilesmith_array {
  const void* data;
  int64_t rows, columns;
  char type[8];
} tilesmith_array;

/* What is repacked. Arrays of several experts have the rows of the first, then those of the second, and so on; `rows`
 * counts all of them. Fill it with tilesmith_weights_source_init, then set the fields by name. */
typedef struct tilesmith_weights_source {
  size_t size;
  int32_t format;         /* a tilesmith_weights_format */
  /* not 0: all arrays, and what is made, lie in host memory, and no device is used; 0 at first */
  int32_t on_host;
  tilesmith_array codes;
  /* [groups][n], or of bytes and nibbles also [n][groups]; "f16", "bf16" or "f32". None of Q4_0 and Q8_0 */
  tilesmith_array scales;
  tilesmith_array zeros;  /* where weights have zeros. Of bytes and nibbles as scales, also "u8", "s8" or "s32" */
  tilesmith_array g_idx;  /* of GPTQ; may be none */
} tilesmith_weights_source;

/* Refuses unknown types, sizes and groups; the struct is then all 0. */
tilesmith_status tilesmith_weights_init(tilesmith_weights* weights, const char* type, int64_t n, int64_t k,
                                        int64_t group, const char* scale_type, int32_t has_zeros);
tilesmith_status tilesmith_weights_source_init(tilesmith_weights_source* source, int32_t format);

/* How much memory they take. */
tilesmith_status tilesmith_weights_bytes(const tilesmith_weights* weights, tilesmith_weights_sizes* sizes);

/* Enqueues the repacking. Not while the calling thread captures a stream. The outputs must not overlap what is read.
 * `codes` is aligned to 16 bytes; `zeros` is NULL if there are none. NVRTC compiles the kernels at a library's first
 * call (TILESMITH_NO_KERNEL without it). The call waits for the stream if g_idx or zeros must be checked first. With
 * on_host the library may be NULL, the stream is not used, and all is done when the call returns. */
tilesmith_status tilesmith_weights_repack(tilesmith_library* library, struct CUstream_st* stream,
                                          const tilesmith_weights* weights, const tilesmith_weights_source* source,
                                          void* codes, void* scales, void* zeros);

#ifdef __cplusplus
}
#endif

#endif
