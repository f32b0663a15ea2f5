// The suite's cases as they lie in device memory: made once on the host, uploaded, used for every kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/problem/operand.hpp"
#include "tuner/verify/suite_cases.hpp"

namespace tilesmith::tuner {

using verify::CaseRow;

/// Where a matrix lies between its guards.
//
//   | guard | base offset | row 0 ... padding | row 1 ... padding | ... | guard |
//
// The zone starts 256-byte aligned; the matrix starts exactly `align_bytes` further than that allows, so that a kernel
// which needs more alignment than the problem promises is found out.
struct Zone {
  std::size_t first_byte = 0;  ///< of element (0, 0), from the zone's start
  std::size_t bytes = 0;       ///< of the whole zone, a multiple of 256
};
Zone make_zone(std::int64_t matrix_bytes, Scalar element, int align_bytes);
/// Of a matrix of the problem, by what its pointer is aligned to: a bias to an element only.
Zone make_zone(const Problem& problem, const OperandMatrix& matrix);

struct SuiteImage {
  KernelSignature signature;
  std::vector<SuiteCase> cases;
  std::vector<CaseRow> rows;                  ///< one a case; counted in elements of the output type
  ByRole<std::vector<std::size_t>> bytes_at;  ///< of an input's element (0, 0) within `operands`, one a case
  /// Of α that lies in device memory: another value, one a case (first_alpha()).
  std::vector<std::size_t> other_alpha_at;
  std::vector<std::byte> operands;  ///< the inputs of all cases; guards and row padding are NaN (integers: garbage)
  std::vector<double> expected;     ///< D of all cases, [batch, m, n] packed
  /// D as every run finds it: canaries outside; inside what C holds, or poison where that is not read here.
  std::vector<std::byte> c_image;

  const TypePair& type() const { return signature.type; }

  /// Byte offset of C's element (0, 0) of a case within `c_image`.
  std::size_t c_bytes_at(std::size_t index) const;
};

/// α of a launch whose result the next one overwrites.
inline double first_alpha(const Scales& scales) { return 2 * scales.alpha + 1; }

SuiteImage make_suite_image(const KernelSignature& signature);

/// The first thing wrong with a case, as the device's compare kernel finds it.
struct SlotFault {
  verify::Fault fault = verify::kFaultNone;
  std::uint64_t slot = 0;  ///< within the case's zone
};

/// "C[3,5]", of a batch "C[2][3,5]": entry, row, column. `index`: as verify::element_index() has it.
std::string place_in_c(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t index);

/// One line: "suite: f16f32 NN 17 13 31 α=2 β=0 exact: C[3,5] is 7, expected 9". The bits are those of the slot.
std::string describe_fault(
    const SuiteImage& image, std::size_t index, const SlotFault& fault, std::uint64_t bits_1, std::uint64_t bits_2);

}  // namespace tilesmith::tuner
