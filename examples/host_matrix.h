/* A matrix on the host in one of the element types, filled with small integers: every product and partial sum is then
 * exact in every type, and a right result equals a plain loop's, rounded to C's type, bit for bit. */
#ifndef EXAMPLE_HOST_MATRIX_H
#define EXAMPLE_HOST_MATRIX_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum host_type { HOST_F16, HOST_BF16, HOST_F32, HOST_F64, HOST_S8, HOST_U8, HOST_S32 };

struct host_matrix {
  enum host_type type;
  int64_t rows, cols; /* rows are packed */
  size_t bytes;
  void* data;
};

static size_t host_size(enum host_type type) {
  static const size_t kSizes[] = {2, 2, 4, 8, 1, 1, 4};
  return kSizes[type];
}

/* Of a type pair's name: what stands before, and after, the boundary of the two. */
static enum host_type host_operand_type(const char* pair) {
  if (strncmp(pair, "bf16", 4) == 0) return HOST_BF16;
  if (strncmp(pair, "f16", 3) == 0) return HOST_F16;
  if (strncmp(pair, "tf32", 4) == 0 || strncmp(pair, "f32", 3) == 0) return HOST_F32;
  if (strncmp(pair, "f64", 3) == 0) return HOST_F64;
  return pair[0] == 'u' ? HOST_U8 : HOST_S8;
}

static enum host_type host_output_type(const char* pair) {
  const size_t length = strlen(pair);
  if (length > 3 && strcmp(pair + length - 3, "s32") == 0) return HOST_S32;
  if (length > 3 && strcmp(pair + length - 3, "f64") == 0) return HOST_F64;
  if (length > 4 && strcmp(pair + length - 4, "bf16") == 0) return HOST_BF16;
  if (length > 3 && strcmp(pair + length - 3, "f16") == 0) return HOST_F16;
  return HOST_F32;
}

static struct host_matrix host_matrix_make(enum host_type type, int64_t rows, int64_t cols) {
  struct host_matrix matrix;
  matrix.type = type;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.bytes = (size_t)rows * (size_t)cols * host_size(type);
  matrix.data = malloc(matrix.bytes);
  if (matrix.data == NULL) {
    fprintf(stderr, "error: no host memory for %zu bytes\n", matrix.bytes);
    exit(2);
  }
  return matrix;
}

static struct host_matrix host_matrix_like(const struct host_matrix* other) {
  return host_matrix_make(other->type, other->rows, other->cols);
}

static void host_free(struct host_matrix* matrix) {
  free(matrix->data);
  matrix->data = NULL;
}

/* IEEE binary16, both ways. */
static uint16_t to_f16(float value) {
  int exponent;
  const float mantissa = frexpf(fabsf(value), &exponent); /* [0.5, 1) */
  const uint16_t sign = value < 0 ? 0x8000 : 0;
  if (value == 0) return sign;
  return (uint16_t)(sign | ((exponent + 14) << 10) | ((int)ldexpf(mantissa, 11) & 0x3FF));
}

static float from_f16(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F;
  const int fraction = bits & 0x3FF;
  float value;
  if (exponent == 31) value = fraction != 0 ? NAN : INFINITY;
  else if (exponent == 0) value = ldexpf((float)fraction, -24);
  else value = ldexpf((float)(fraction | 0x400), exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

static double host_get(const struct host_matrix* matrix, int64_t row, int64_t col) {
  const int64_t at = row * matrix->cols + col;
  switch (matrix->type) {
    case HOST_F16: return from_f16(((const uint16_t*)matrix->data)[at]);
    case HOST_BF16: {
      const uint32_t bits = (uint32_t)((const uint16_t*)matrix->data)[at] << 16;
      float value;
      memcpy(&value, &bits, sizeof value);
      return value;
    }
    case HOST_F32: return ((const float*)matrix->data)[at];
    case HOST_F64: return ((const double*)matrix->data)[at];
    case HOST_S8: return ((const int8_t*)matrix->data)[at];
    case HOST_U8: return ((const uint8_t*)matrix->data)[at];
    case HOST_S32: return ((const int32_t*)matrix->data)[at];
  }
  return NAN;
}

static void host_set(struct host_matrix* matrix, int64_t at, int value) {
  switch (matrix->type) {
    case HOST_F16: ((uint16_t*)matrix->data)[at] = to_f16((float)value); break;
    case HOST_BF16: {
      const float real = (float)value;
      uint32_t bits;
      memcpy(&bits, &real, sizeof bits);
      ((uint16_t*)matrix->data)[at] = (uint16_t)(bits >> 16);
      break;
    }
    case HOST_F32: ((float*)matrix->data)[at] = (float)value; break;
    case HOST_F64: ((double*)matrix->data)[at] = value; break;
    case HOST_S8: ((int8_t*)matrix->data)[at] = (int8_t)value; break;
    case HOST_U8: ((uint8_t*)matrix->data)[at] = (uint8_t)value; break;
    case HOST_S32: ((int32_t*)matrix->data)[at] = value; break;
  }
}

/* What an element holds of a right result: beyond 256 bf16 lacks some integers, and rounds to nearest, ties to even. */
static double host_rounded(enum host_type type, double value) {
  float real = (float)value;
  uint32_t bits;
  if (type != HOST_BF16) return value;
  memcpy(&bits, &real, sizeof bits);
  bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000u;
  memcpy(&real, &bits, sizeof real);
  return real;
}

/* -1, 0 or 1, a third each (0 or 1 where there is no sign): sums of thousands of products stay far below 2048, where
 * f16 stops holding every integer. */
static void host_fill(struct host_matrix* matrix, uint64_t seed) {
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (int64_t i = 0; i < matrix->rows * matrix->cols; ++i) {
    int value;
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = (int)((state >> 33) % 3) - 1;
    host_set(matrix, i, matrix->type == HOST_U8 ? (value & 1) : value);
  }
}

#endif
