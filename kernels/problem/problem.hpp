// A GEMM problem: D ← act(r·cᵀ ∘ α·op(A)·op(B) + β·C + bias), row-major storage.
//
//   transposes | A is stored as | B is stored as
//   NN         | m×k            | k×n
//   NT         | m×k            | n×k
//   TN         | k×m            | k×n
//   TT         | k×m            | n×k
// A sparse A or B stores half of K: m×k/2 or n×k/2 (kernels/problem/sparsity.hpp).
// C and D are m×n. Where the epilogue is gated, two columns of the product make one of D, which is m×n/2, and there is no C. Leading dimensions are row strides in elements.
//
// A strided batch has `batch` such problems, its entries: D_i ← act(r·cᵀ ∘ α·op(A_i)·op(B_i) + β·C_i + bias). A_i lies stride_a elements behind
// A_(i−1), and so on. Entries of A or B may overlap, as windows that slide over a signal do, and a stride of 0 lets all read one matrix.
// Entries of D have no element in common. Scales and bias are one for all.
//
// A grouped problem has one A and one D, whose M rows are split among `batch` groups, and a B for each group: rows [end_(g−1), end_g) of D
// come from the same rows of A and from B_g. The ends lie in device memory (OperandRole::offsets) and are known only when it runs. A group
// may have no rows. Rows behind the last end belong to no group and are not written. Where an end lies before the one before it, its group
// is empty; ends outside 0 .. M count as the nearest of these. What has to suppose a split takes an even one: end_g = M·(g+1)/batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/problem/signature.hpp"

namespace tilesmith {

/// The largest M, N or K accepted (2^28): tile coordinates stay in 32 bits; offsets are 64-bit.
inline constexpr std::int64_t kMaxDimension = std::int64_t{1} << 28;

/// The most entries of a batch, and the largest distance between two of them in elements.
inline constexpr std::int64_t kMaxBatch = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxEntryStride = std::int64_t{1} << 36;
/// The most groups of a grouped problem.
inline constexpr std::int64_t kMaxGroups = std::int64_t{1} << 16;

/// The base-pointer alignment that plain allocations give, and the widest that any kernel uses.
inline constexpr int kDefaultAlignBytes = 16;

/// Whether the caller's β is known to be 0 (C is then never read) or may be anything.
enum class BetaClass { zero, any };
std::string_view name(BetaClass beta);
std::optional<BetaClass> parse_beta_class(std::string_view text);

/// A signature with sizes.
struct Problem : KernelSignature {
  std::int64_t m = 0, n = 0, k = 0;        // elements
  std::int64_t lda = 0, ldb = 0, ldc = 0;  // row strides, elements
  int align_bytes = kDefaultAlignBytes;    ///< every base pointer is a multiple of this (1, 2, 4, 8 or 16) and of an element
  BetaClass beta = BetaClass::zero;
  std::int64_t batch = 1;                             ///< entries, or groups; 1 if the batch mode is single. 0: nothing to do
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;  ///< elements from an entry to the next; C and D share one. 0 if single

  friend bool operator==(const Problem&, const Problem&) = default;

  std::int64_t a_rows() const { return trans.a ? k : m; }
  std::int64_t a_cols() const { return trans.a ? m : sparsity == Sparsity::a ? k / 2 : k; }
  std::int64_t b_rows() const { return trans.b ? n : k; }
  std::int64_t b_cols() const { return !trans.b ? n : sparsity == Sparsity::b ? k / 2 : k; }
  /// Matrices A, C and D that have M rows each: of a grouped problem one, however many groups share it.
  std::int64_t entries() const { return batch_mode == BatchMode::grouped && batch > 1 ? 1 : batch; }
  std::int64_t d_cols() const { return epilogue.is_gated() ? n / 2 : n; }
  /// Of all entries, as what follows.
  double flop() const { return 2.0 * double(m) * double(n) * double(k) * double(entries()); }
  /// "effective operations": M·K + (2K−1)·M·N + 2·M·N.
  double effective_ops() const;
  /// Bytes of storage from the first to the last element of the last entry.
  std::int64_t a_bytes() const;
  std::int64_t b_bytes() const;
  std::int64_t c_bytes() const;
};

/// A problem with packed rows (lda = columns of A as stored, ...), default alignment, β = 0; of a batch one entry.
Problem packed_problem(const KernelSignature& signature, std::int64_t m, std::int64_t n, std::int64_t k);

/// The same problem with its entries (or the B of its groups) one behind the other. Strides of other modes are 0.
Problem with_packed_strides(Problem problem);

/// The same problem so many times: batch mode `strided`, each matrix packed behind the one before (a stored matrix's rows times its
/// leading dimension apart).
Problem batched(Problem problem, std::int64_t batch);

/// A batch of the problem whose matrices lie where arrays of pointers say. Its strides are those of batched(): the tuner's own entries lie so.
Problem by_pointers(Problem problem, std::int64_t batch);

/// The same problem with α and β from the host.
Problem with_host_scalars(Problem problem);

/// The same problem without its epilogue, with α and β from the host. Where it is gated C has twice the columns, in rows twice as far apart.
Problem sister_of(Problem problem);
/// The same with β = 0: what all sisters share.
Problem plainest_sister(Problem problem);
/// Whether two problems differ, and in nothing but epilogue, where α and β are, and beta class. What is fast for the one is a good guess for
/// the other.
bool are_sisters(const Problem& a, const Problem& b);

/// One of a batch's entries as a problem of its own; a single one as it is. Of a grouped problem all rows, with one B.
Problem entry_of(Problem problem);

/// The same problem with its rows split among so many groups: batch mode `grouped`, each group's B packed behind the one before.
Problem grouped(Problem problem, std::int64_t groups);

/// As what a grouped problem's time is estimated: a strided batch of as many entries as an even split gives rows, each with its share of them.
/// Any other problem is itself.
Problem evenly_split(const Problem& problem);

/// Tiles of so many rows, at the most, over all entries or groups: no tile has rows of two groups.
std::int64_t most_tile_rows(const Problem& problem, std::int64_t tile_rows);

/// The same problem without what has no effect: the row stride of a matrix with one row, and the distance between
/// entries if there is only one, become those of packed storage. `c_apart` is dropped if C is not read, or if other
/// terms of the epilogue imply it. Problems from a text, C, C++, a call of cuBLAS or a database are made canonical.
Problem canonical(Problem problem);

/// The one judge of what may be asked. nullopt if the problem is well formed; else one line that names the field and what was expected.
/// Dimensions of 0 and a batch of 0 are well formed (nothing to do, as BLAS defines it). What canonical() replaces may
/// be anything.
std::optional<std::string> problem_error(const Problem& problem);

/// Canonical text: "f16f32 NN 1024 1024 1024", followed, where they differ from packed_problem(), by
/// " lda=.. ldb=.. ldc=.. align=.. beta=any batch=.." and, where they differ from batched(), " stride_a=.. stride_b=.. stride_c=..", and
/// the signature's options. Two problems are equal exactly when their texts are.
std::string text(const Problem& problem);

/// The part of the text behind M, N and K, with a space before each word: what a packed problem with β = 0 does not have.
std::string extras_text(const Problem& problem);

/// Reads the text of a problem and makes it canonical(). Returns nullopt and sets `error` (one line, what was expected) if it does not
/// parse or problem_error() refuses it.
std::optional<Problem> parse_problem(std::string_view text, std::string& error);

/// The problem as families are asked about it and as it is planned: where a matrix is stored as one row its stride is never used, and
/// is rounded up to a multiple of 16 bytes. The pointer alone then says how the row is aligned. So is the stride of a batch of one.
Problem as_planned(const Problem& problem);

/// The widest copy in bytes (1..16, a power of two) at which every row of a matrix starts aligned, given its
/// row stride in elements.
int row_align_bytes(const Problem& problem, Scalar element, std::int64_t row_stride);
/// The same of A, B and C of all entries.
int a_align_bytes(const Problem& problem);
int b_align_bytes(const Problem& problem);
int c_align_bytes(const Problem& problem);

}  // namespace tilesmith
