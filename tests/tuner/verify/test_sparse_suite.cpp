// Suites of problems whose A or B is 2:4 sparse.
#include <cstring>
#include <string>

#include "kernels/problem/sparsity.hpp"
#include "kernels/shared/multiply/sparse_layout.cuh"
#include "tests/catch.hpp"
#include "tuner/verify/number_formats.hpp"
#include "tuner/verify/suite_image.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

KernelSignature sparse_signature(const char* type, Sparsity sparsity) {
  KernelSignature signature{*find_type_pair(type), {false, true}};
  signature.sparsity = sparsity;
  return signature;
}

/// Element k of a row of the sparse operand, by the metadata in the suite's memory.
double sparse_element(const SuiteImage& image, std::size_t index, const OperandMatrix& stored,
    const OperandMatrix& metadata, std::int64_t row, std::int64_t k) {
  const int bytes = int(size_bytes(stored.element)), group = group_elements(bytes);
  const MetadataPlace place = metadata_place(row, k / group, metadata.cols / kMetadataWords, bytes);
  unsigned word = 0;
  std::memcpy(&word, image.operands.data() + image.bytes_at[OperandRole::metadata][index] + std::size_t(place.word) * 4,
      sizeof word);
  const unsigned bits = word >> place.shift & 15;
  CHECK(is_metadata(bits, bytes));
  for (int i = 0; i < stored_elements(bytes); ++i) {
    if (place_in_group(bits, i, bytes) != k % group) continue;
    const std::int64_t at = row * stored.row_stride + k / group * stored_elements(bytes) + i;
    return decode_operand(stored.element,
        image.operands.data() + image.bytes_at[stored.role][index] + std::size_t(at) * std::size_t(bytes));
  }
  return 0;
}

}  // namespace

TEST_CASE("what the suite expects of sparse operands is the product of what its memory holds", "[sparsity]") {
  for (const Sparsity sparsity : {Sparsity::a, Sparsity::b}) {
    for (const char* type : {"f16f32", "s8s32", "tf32f32"}) {
      const SuiteImage image = make_suite_image(sparse_signature(type, sparsity));
      int checked = 0;
      for (std::size_t i = 0; i < image.cases.size(); ++i) {
        const SuiteCase& of = image.cases[i];
        const Problem& p = of.problem;
        INFO(text(of));
        CHECK_FALSE(problem_error(p));
        if (of.stage != Stage::exact || of.scales.alpha != 1 || of.scales.beta != 0) continue;
        const OperandRole role = sparsity == Sparsity::a ? OperandRole::a : OperandRole::b,
                          other = sparsity == Sparsity::a ? OperandRole::b : OperandRole::a;
        const OperandMatrix stored = operand(p, role), metadata = operand(p, OperandRole::metadata),
                            dense = operand(p, other);
        CHECK(image.bytes_at[OperandRole::metadata][i] % 16 == 0);
        for (const auto& [m, n] :
            {std::pair<std::int64_t, std::int64_t>{0, 0}, {p.m - 1, p.n - 1}, {p.m / 2, p.n / 3}}) {
          double sum = 0;
          for (std::int64_t k = 0; k < p.k; ++k) {
            const std::int64_t sparse_row = sparsity == Sparsity::a ? m : n,
                               dense_row = sparsity == Sparsity::a ? n : m;
            const std::size_t at =
                image.bytes_at[other][i] + std::size_t(dense_row * dense.row_stride + k) * size_bytes(dense.element);
            sum += sparse_element(image, i, stored, metadata, sparse_row, k) *
                   decode_operand(dense.element, image.operands.data() + at);
          }
          CHECK(image.expected[image.rows[i].expected + std::size_t(m * p.n + n)] == sum);
          ++checked;
        }
      }
      CHECK(checked > 3);
    }
  }
}

TEST_CASE("the suite's words of metadata are where kernels look for each group's bits", "[sparsity]") {
  for (const int bytes : {1, 2, 4}) {
    for (long long row = 0; row < 40; ++row) {
      for (long long group = 0; group < 40; ++group) {
        const MetadataPlace place = metadata_place(row, group, 3, bytes);
        CHECK((verify::metadata_word(place.word, 3, bytes) >> place.shift & 15) ==
              verify::group_bits(row, group, bytes == 4));
      }
    }
    for (long long stored = 0; stored < 64; ++stored)
      CHECK(verify::stored_of_place(7, verify::place_of_stored(7, stored, bytes == 4), bytes == 4) == stored);
  }
}
