// Operands and reference of one tuned problem on the device, proven on the host; made once, used for every candidate.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/problem/problem.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/plan/pointer_tables.hpp"
#include "tuner/verify/exact_data.hpp"
#include "tuner/verify/reference_kernels.hpp"
#include "tuner/verify/suite_image.hpp"

namespace tilesmith::tuner {

/// The stages of a tuned problem, as far as its type pair and depth have them.
inline constexpr Stage kProblemStages[] = {Stage::exact, Stage::wide_c, Stage::real};

using Zones = ByRole<Zone>;

/// One stage: operands between guards, and op(A)·op(B) for all rows of C or, where that would take too long in f64, for
/// a sample of rows (first, last and random ones). Of a batch all entries, or a sample of them (sampled_entries()), and
/// as many rows of each.
struct ProblemStage {
  Stage stage = Stage::exact;
  Scales scales;
  StageRules rules;
  ByRole<runtime::DeviceBuffer> inputs;  ///< zones
  runtime::DeviceBuffer sums;            ///< [entries, rows, n]: 32-bit sums modulo 2^32, or f64
  std::vector<std::int64_t> entries;     ///< of a batch, ascending; {0} without one
  std::vector<std::int64_t> sampled;     ///< rows of an entry, ascending; empty: every row
  std::int64_t row_count = 0;            ///< of an entry
  std::vector<std::int64_t> compared;    ///< rows of all entries, numbered on from one to the next; empty: all of C
  runtime::DeviceBuffer sampled_device, compared_device;
  CaseRow c_row{};             ///< C's zone, with this stage's tolerance
  std::uint64_t checksum = 0;  ///< over the inputs and the sums

  bool sums_are_f64(const TypePair& type) const { return stage == Stage::real || type.a == Scalar::f64; }
  std::int64_t compared_rows() const { return std::int64_t(entries.size()) * row_count; }
  /// Bytes of one sum.
  std::size_t sum_bytes(const TypePair& type) const { return sums_are_f64(type) ? 8 : 4; }
  /// An input's element (0, 0), in device memory.
  std::byte* first_of(const Zones& zones, OperandRole role) const {
    return inputs[role].data() + zones[role].first_byte;
  }
};

class ProblemState {
 public:
  /// Throws runtime::DeviceError if the device has not the memory; std::runtime_error if the reference is not proven.
  ProblemState(const runtime::Context& context, std::shared_ptr<const ReferenceKernels> kernels, const Problem& problem,
      const runtime::Stream& stream);

  const Problem& problem() const { return problem_; }
  std::vector<ProblemStage>& stages() { return stages_; }
  const std::vector<ProblemStage>& stages() const { return stages_; }
  const Zones& zones() const { return zones_; }
  runtime::DeviceBuffer& c() { return c_; }
  runtime::PointerTables& pointers() { return pointers_; }

  /// Enqueues the sum over what candidates must not change; `sum` is a device address of 8 bytes.
  void enqueue_checksum(const ProblemStage& stage, const runtime::Stream& stream, std::byte* sum) const;

 private:
  void make_stage(ProblemStage& stage, const runtime::Stream& stream);
  void fill_operands(ProblemStage& stage, const runtime::Stream& stream) const;
  void compute_sums(const ProblemStage& stage, const runtime::Stream& stream) const;

  const runtime::Context& context_;
  std::shared_ptr<const ReferenceKernels> kernels_;
  Problem problem_;
  Zones zones_;
  runtime::DeviceBuffer c_;
  runtime::PointerTables pointers_;
  std::vector<ProblemStage> stages_;
};

/// Rows of C that the real-valued reference covers: all (empty) up to 2^36 multiplications, else as many as that
/// allows, at least 64.
std::vector<std::int64_t> sampled_rows(const Problem& problem, std::uint64_t seed);

/// Entries of a batch that are proven: all up to 256 of them, if their references take no more than 2^36
/// multiplications in f64 and 1 GiB; else as many as that allows, at least three: the first, the last and random ones.
std::vector<std::int64_t> sampled_entries(const Problem& problem, std::uint64_t seed);

/// What the reference computes of one B: an entry's rows, or a group's, where the groups are split evenly.
struct ReferencePart {
  std::int64_t a, b;             ///< which of the matrices
  std::int64_t first_row, rows;  ///< of the rows that are there, all of a matrix or the sampled ones
  std::int64_t sums_row;         ///< where the first one's sums stand
};
std::vector<ReferencePart> reference_parts(const Problem& problem, const ProblemStage& stage);

/// Proves a stage's sums on the host. Of many groups the first, the last and some between: Freivalds over the whole
/// matrices, and single elements by definition. Empty, or what is wrong with the reference.
std::optional<std::string> reference_fault(const Problem& problem, const ProblemStage& stage, const Zones& zones);

}  // namespace tilesmith::tuner
