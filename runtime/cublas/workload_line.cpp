#include <cinttypes>
#include <cstdio>

#include "runtime/cublas/problem_key.hpp"

namespace tilesmith::cublas {
namespace {

void add_field(std::string& line, const char* name, std::int64_t value) {
  char word[64];
  std::snprintf(word, sizeof word, " %s=%" PRId64, name, value);
  line += word;
}

void add_epilogue(std::string& line, const ProblemKey& key) {
  std::string words;
  const auto add = [&words](const char* word) { words.append(words.empty() ? "" : "+").append(word); };
  if (key.c_is_apart != 0) add("c_apart");
  if (key.scale != 0) add(key.scale == TILESMITH_SCALE_ONE ? "scale_m1+scale_n1" : "scale_m+scale_n");
  if (key.bias != 0) add(key.bias == TILESMITH_BIAS_N ? "bias_n" : "bias_n_f32");
  if (key.activation != 0) add(key.activation == TILESMITH_RELU ? "relu" : "gelu_tanh");
  if (!words.empty()) line += " epilogue=" + words;
}

void add_batch(std::string& line, const ProblemKey& key, std::int64_t rows_a, std::int64_t rows_b) {
  if (key.batch_kind == std::uint8_t(BatchKind::single)) return;
  add_field(line, "batch", key.batch);
  if (key.batch_kind == std::uint8_t(BatchKind::pointers)) {
    line += " batch_mode=pointers";
    return;
  }
  line += " batch_mode=strided";
  if (key.stride_a != rows_a * key.lda) add_field(line, "stride_a", key.stride_a);
  if (key.stride_b != rows_b * key.ldb) add_field(line, "stride_b", key.stride_b);
  if (key.stride_c != key.m * key.ldc) add_field(line, "stride_c", key.stride_c);
}

}  // namespace

std::string workload_line(const ProblemKey& key) {
  char head[128];
  std::snprintf(head, sizeof head, "%s %c%c %" PRId64 " %" PRId64 " %" PRId64, type_pair_name(key), key.trans_a != 0 ? 'T' : 'N',
                key.trans_b != 0 ? 'T' : 'N', key.m, key.n, key.k);
  std::string line = head;
  const std::int64_t rows_a = key.trans_a != 0 ? key.k : key.m, cols_a = key.trans_a != 0 ? key.m : key.k;
  const std::int64_t rows_b = key.trans_b != 0 ? key.n : key.k, cols_b = key.trans_b != 0 ? key.k : key.n;
  if (key.lda != cols_a) add_field(line, "lda", key.lda);
  if (key.ldb != cols_b) add_field(line, "ldb", key.ldb);
  if (key.ldc != key.n) add_field(line, "ldc", key.ldc);
  if (key.align_bytes != 16) add_field(line, "align", key.align_bytes);
  if (key.beta_is_zero == 0) line += " beta=any";
  add_batch(line, key, rows_a, rows_b);
  add_epilogue(line, key);
  if (key.scalars_on_device != 0) line += " scalars=device";
  return line;
}

}  // namespace tilesmith::cublas
