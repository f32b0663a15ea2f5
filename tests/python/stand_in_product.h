/* The product, in host memory. A part of stand_in.c. */

typedef enum kind { F32, F64, F16, BF16, S8, U8, S32, E4M3, E5M2, S4, U4, B1, B1XOR, NOT_COMPUTED } kind;

static kind kind_of(const char* name, size_t length) {
  static const char* const names[] = {"f32", "f64", "f16", "bf16", "s8", "u8", "s32", "e4m3", "e5m2", "s4", "u4", "b1", "b1xor"};
  for (int i = 0; i < NOT_COMPUTED; ++i)
    if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0) return (kind)i;
  return NOT_COMPUTED;
}

/* A float of `bits` bits in all, of which `fraction` are behind the point. NaN and infinities are read as numbers. */
static double small_float(uint32_t code, int bits, int fraction) {
  const int bias = (1 << (bits - fraction - 2)) - 1, exponent = (int)(code >> fraction) & ((1 << (bits - fraction - 1)) - 1);
  const double of_one = (double)(code & ((1u << fraction) - 1)) / (1 << fraction);
  return (code >> (bits - 1) & 1 ? -1 : 1) * (exponent == 0 ? ldexp(of_one, 1 - bias) : ldexp(1 + of_one, exponent - bias));
}

/* To the nearest. What is too large is not told from others. */
static uint32_t code_of_small_float(double value, int bits, int fraction) {
  const int bias = (1 << (bits - fraction - 2)) - 1, own = value == 0 ? 1 - bias : ilogb(value), exponent = own < 1 - bias ? 1 - bias : own;
  const uint32_t whole = (uint32_t)nearbyint(ldexp(fabs(value), fraction - exponent)); /* with the 1 before the point, where there is one */
  return (uint32_t)(signbit(value) != 0) << (bits - 1) | (((uint32_t)(exponent + bias - 1) << fraction) + whole);
}

static double load(const void* at, int64_t i, kind of) {
  if (of == F16) return small_float(((const uint16_t*)at)[i], 16, 10);
  if (of == E4M3 || of == E5M2) return small_float(((const uint8_t*)at)[i], 8, of == E4M3 ? 3 : 2);
  if (of == F32) return ((const float*)at)[i];
  if (of == F64) return ((const double*)at)[i];
  if (of == S8) return ((const int8_t*)at)[i];
  if (of == U8) return ((const uint8_t*)at)[i];
  if (of == S32) return ((const int32_t*)at)[i];
  if (of == S4 || of == U4) {
    const int bits = ((const uint8_t*)at)[i / 2] >> i % 2 * 4 & 15;
    return of == S4 && bits > 7 ? bits - 16 : bits;
  }
  if (of == B1 || of == B1XOR) return ((const uint8_t*)at)[i / 8] >> i % 8 & 1;
  const uint32_t bits = (uint32_t)((const uint16_t*)at)[i] << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void store(void* at, int64_t i, kind of, double value) {
  if (of == F32) ((float*)at)[i] = (float)value;
  if (of == F64) ((double*)at)[i] = value;
  if (of == S32) ((int32_t*)at)[i] = (int32_t)value;
  if (of == S8) ((int8_t*)at)[i] = (int8_t)(value > 127 ? 127 : value < -128 ? -128 : value);
  if (of == F16) ((uint16_t*)at)[i] = (uint16_t)code_of_small_float(value, 16, 10);
  if (of == E4M3) ((uint8_t*)at)[i] = (uint8_t)code_of_small_float(value, 8, 3);
  if (of == BF16) {
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    ((uint16_t*)at)[i] = (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
}

static int is_gate(int16_t activation) { return activation == TILESMITH_SWIGLU || activation == TILESMITH_SWIGLU_INTERLEAVED; }

static double activated(double x, int16_t activation) {
  if (activation == TILESMITH_RELU) return x > 0 ? x : 0;
  if (activation == TILESMITH_RELU_SQUARED) return x > 0 ? x * x : 0;
  if (activation == TILESMITH_GELU) return x * 0.5 * (1 + erf(x / sqrt(2.0)));
  if (activation == TILESMITH_GELU_TANH) return x * 0.5 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return activation == TILESMITH_SILU ? x / (1 + exp(-x)) : x;
}

static int is_by_block(int8_t how) { return how == TILESMITH_SCALE_EACH_BY_BLOCK || how == TILESMITH_SCALE_BLOCK; }

static double scaling(const void* at, int64_t i, int8_t how) {
  return how == TILESMITH_UNSCALED || is_by_block(how) ? 1 : ((const float*)at)[how == TILESMITH_SCALE_EACH ? i : 0];
}

/* Of row i of `rows` and element l of K, of a single product. */
static double block_scale(const void* at, int64_t i, int64_t rows, int64_t l, int64_t k, int8_t how) {
  if (!is_by_block(how)) return 1;
  return ((const float*)at)[how == TILESMITH_SCALE_BLOCK ? i / 128 * ((k + 127) / 128) + l / 128 : l / 128 * rows + i];
}

/* first_a and others: elements before the entry of a batch. */
typedef struct types { kind operand, output; double alpha, beta; int64_t first_a, first_b, first_c, expert; } types;

#include "stand_in_weights.h"

/* Row i, column j of the product with one A and B, before the activation. */
static double sum_at(const tilesmith_problem* p, const types* t, const tilesmith_run* r, const void* c, int64_t i, int64_t j, int64_t ldc) {
  const int ta = p->transposes[0] == 'T', tb = p->transposes[1] == 'T';
  const int64_t lda = p->lda != 0 ? p->lda : ta ? p->m : p->k, ldb = p->ldb != 0 ? p->ldb : tb ? p->k : p->n;
  double sum = 0;
  for (int64_t l = 0; l < p->k; ++l) {
    const double x = load(r->operands[TILESMITH_A], t->first_a + (ta ? l * lda + i : i * lda + l), t->operand);
    const double y = p->weights[0] != 0 ? weight_at(p, r, t->operand, t->output, t->expert, j, l) : load(r->operands[TILESMITH_B], t->first_b + (tb ? j * ldb + l : l * ldb + j), t->operand);
    const double scale = block_scale(r->operands[TILESMITH_SCALE_M], i, p->m, l, p->k, p->scale_m) * block_scale(r->operands[TILESMITH_SCALE_N], j, p->n, l, p->k, p->scale_n);
    sum += t->operand == B1XOR ? x != y : x * y * scale;
  }
  sum *= t->alpha * scaling(r->operands[TILESMITH_SCALE_M], i, p->scale_m) * scaling(r->operands[TILESMITH_SCALE_N], j, p->scale_n);
  if (t->beta != 0) sum += t->beta * load(c, t->first_c + i * ldc + j, t->output);
  if (p->bias != TILESMITH_NO_BIAS) sum += load(r->operands[TILESMITH_BIAS], p->bias == TILESMITH_BIAS_N ? j : i, p->bias_is_f32 ? F32 : t->output);
  return sum;
}

static void multiply(const tilesmith_problem* p, const types* t, const tilesmith_run* r, int64_t first, int64_t last) {
  void* d = (void*)(uintptr_t)r->operands[TILESMITH_D];
  const void* c = r->operands[TILESMITH_C] != NULL ? r->operands[TILESMITH_C] : d;
  const int16_t gate = p->activation;
  const int64_t columns = is_gate(gate) ? p->n / 2 : p->n, ldc = p->ldc != 0 ? p->ldc : columns;
  for (int64_t i = first; i < last; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double value;
      if (is_gate(gate)) {
        const int64_t x = gate == TILESMITH_SWIGLU ? j : 2 * j, y = gate == TILESMITH_SWIGLU ? columns + j : 2 * j + 1;
        value = activated(sum_at(p, t, r, c, i, x, ldc), TILESMITH_SILU) * sum_at(p, t, r, c, i, y, ldc);
      } else {
        value = activated(sum_at(p, t, r, c, i, j, ldc), gate);
      }
      store(d, t->first_c + i * ldc + j, t->output, value);
    }
}

static double scalar(const void* at, const char* type, double usual) {
  if (at == NULL) return usual;
  if (strcmp(type, "f64f64") == 0) return *(const double*)at;
  const size_t length = strlen(type);
  return length > 3 && strcmp(type + length - 3, "s32") == 0 ? *(const int32_t*)at : *(const float*)at;
}

/* Where the numbers of a type pair's name end: "bf16|f32|bf16". */
static const char* part_end(const char* name) {
  while (*name != 0 && (*name < '0' || *name > '9')) ++name;
  while (*name >= '0' && *name <= '9') ++name;
  return name;
}

static void compute(const tilesmith_problem* p, types t, const tilesmith_run* r) {
  const int ta = p->transposes[0] == 'T', tb = p->transposes[1] == 'T';
  const int64_t lda = p->lda != 0 ? p->lda : ta ? p->m : p->k, ldb = p->ldb != 0 ? p->ldb : tb ? p->k : p->n;
  const int64_t columns = is_gate(p->activation) ? p->n / 2 : p->n, ldc = p->ldc != 0 ? p->ldc : columns;
  const int64_t sa = p->stride_a == TILESMITH_PACKED ? (ta ? p->k : p->m) * lda : p->stride_a;
  const int64_t sb = p->stride_b == TILESMITH_PACKED ? (tb ? p->n : p->k) * ldb : p->stride_b;
  const int64_t sc = p->stride_c == TILESMITH_PACKED ? p->m * ldc : p->stride_c;
  const int32_t* ends = r->operands[TILESMITH_OFFSETS];
  for (int64_t e = 0; e < p->batch; ++e, t.first_b += sb) {
    t.expert = e;
    if (p->batch_mode == TILESMITH_GROUPED) {
      multiply(p, &t, r, e == 0 ? 0 : ends[e - 1], ends[e]);
      continue;
    }
    multiply(p, &t, r, 0, p->m);
    t.first_a += sa, t.first_c += sc;
  }
}
