/* Weights of 4 and 6 bits, in host memory, by the words of tilesmith_weights.h. A part of stand_in.c. */

static int computes_weights(const tilesmith_problem* p) {
  return strncmp(p->weights, "s4_", 3) == 0 || strncmp(p->weights, "u4_", 3) == 0 || strncmp(p->weights, "e2m1_", 5) == 0 || p->weights[0] == 'q';
}

static int code_at(const uint8_t* codes, int block_bytes, int for_bytes, int64_t row, int64_t column, int64_t k) {
  const uint8_t* block = codes + block_bytes * (row / 16 * ((k + 63) / 64) + column / 64);
  const int r = (int)(row % 16), c = (int)(column % 64), g = r % 8;
  int t, word, nibble;
  if (for_bytes) { /* words 2s and 2s + 1 hold 32 columns, in runs of four for each lane */
    const int s = c / 32, within = c % 32;
    t = within % 16 / 4, word = 2 * s + within / 16, nibble = within % 4 + (r >= 8 ? 4 : 0);
  } else { /* a word holds 16 columns, in pairs a0 to a3 */
    const int within = c % 16, pair = (r >= 8 ? 1 : 0) + (within >= 8 ? 2 : 0);
    t = within % 8 / 2, word = c / 16, nibble = pair + within % 2 * 4;
  }
  uint32_t bits;
  memcpy(&bits, block + 16 * (4 * g + t) + 4 * word, sizeof bits);
  if (block_bytes == 768) { /* the upper two bits: nibble is pair + 4 * hi */
    const int bit = nibble / 4 * 16 + word % 2 * 8 + nibble % 2 * 4 + nibble % 4 / 2 * 2;
    const int upper = block[512 + 8 * (4 * g + t) + word / 2 * 4 + bit / 8] >> bit % 8 & 3;
    return (int)(bits >> 4 * nibble & 15) + 16 * upper;
  }
  return (int)(bits >> 4 * nibble & 15);
}

/* Element [row][column] of an expert's W. `output`: D's type. */
static double weight_at(const tilesmith_problem* p, const tilesmith_run* r, kind operand, kind output, int64_t expert, int64_t row, int64_t column) {
  static const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const char* group = strstr(p->weights, "_g");
  const int64_t of_group = group != NULL ? atoi(group + 2) : p->k, groups = group != NULL ? p->k / of_group : 1;
  const int for_bytes = operand == E4M3 || operand == S8;
  const kind of_scales = strstr(p->weights, "+f32") != NULL ? F32 : for_bytes ? output : operand;
  const int block_bytes = strcmp(p->weights, "q6_k") == 0 ? 768 : 512;
  const uint8_t* codes = (const uint8_t*)r->operands[TILESMITH_B] + expert * block_bytes * ((p->n + 15) / 16) * ((p->k + 63) / 64);
  const int64_t at = (expert * groups + column / of_group) * p->n + row;
  const int code = code_at(codes, block_bytes, for_bytes, row, column, p->k);
  if (block_bytes == 768) { /* four bytes for 64 columns, and an f16 for 256 */
    const int8_t* four = (const int8_t*)r->operands[TILESMITH_WEIGHT_SCALES] + 4 * ((expert * (p->k / 64) + column / 64) * p->n + row);
    return load(r->operands[TILESMITH_WEIGHT_ZEROS], (expert * (p->k / 256) + column / 256) * p->n + row, F16) * four[column % 64 / 16] * (code - 32);
  }
  if (p->weights[0] == 'q') { /* pairs of bytes for 32 columns, and of f16 for 256 */
    const int64_t super = 2 * ((expert * (p->k / 256) + column / 256) * p->n + row);
    const uint8_t* pair = (const uint8_t*)r->operands[TILESMITH_WEIGHT_SCALES] + 2 * ((expert * (p->k / 32) + column / 32) * p->n + row);
    const void* factors = r->operands[TILESMITH_WEIGHT_ZEROS];
    return load(factors, super, F16) * pair[0] * code - load(factors, super + 1, F16) * pair[1];
  }
  double value = p->weights[0] == 'e' ? (code > 7 ? -1 : 1) * e2m1[code & 7] : p->weights[0] == 's' ? code - 8 : code;
  if (r->operands[TILESMITH_WEIGHT_ZEROS] != NULL) value -= load(r->operands[TILESMITH_WEIGHT_ZEROS], at, of_scales);
  return value * load(r->operands[TILESMITH_WEIGHT_SCALES], at, of_scales);
}
