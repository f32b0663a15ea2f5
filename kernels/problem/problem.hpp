// A GEMM problem: D ← act(r·cᵀ ∘ α·op(A)·op(B) + β·C + bias), row-major storage.
//
//   transposes | A is stored as | B is stored as
//   NN         | m×k            | k×n
//   NT         | m×k            | n×k
//   TN         | k×m            | k×n
//   TT         | k×m            | n×k
// A sparse A or B stores half of K: m×k/2 or n×k/2 (kernels/problem/sparsity.hpp).
// C and D are m×n. If the epilogue is gated, two columns of the product make one column of D, so D is m×n/2, and there
// is no C. Leading dimensions are row strides in elements.
//
// A strided batch has `batch` entries: D_i ← act(r·cᵀ ∘ α·op(A_i)·op(B_i) + β·C_i + bias). A_i begins stride_a elements
// after A_(i−1); B, C and D likewise. Entries of A or B may overlap, and with a stride of 0 all entries read the same
// matrix. Entries of D have no element in common. All entries share scales and bias.
//
// A grouped problem has one A, one D, and a B for each of `batch` groups. Rows [end_(g−1), end_g) of D come from the
// same rows of A and from B_g. The ends are in device memory (OperandRole::offsets) and are known only when the problem
// runs. A group may have no rows. Rows behind the last end belong to no group and are not written. If an end is less
// than the end before it, its group is empty; an end outside 0 .. M counts as 0 or M. Wherever a split must be assumed,
// it is even: end_g = M·(g+1)/batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/problem/signature.hpp"

namespace tilesmith {

/// The largest M, N or K accepted (2^28): tile coordinates stay in 32 bits; offsets are 64-bit.
inline constexpr std::int64_t kMaxDimension = std::int64_t{1} << 28;

/// The most entries of a batch, and the largest stride between two entries in elements.
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
  int align_bytes =
      kDefaultAlignBytes;  ///< 1, 2, 4, 8 or 16: every base pointer is a multiple of this and of an element's size
  BetaClass beta = BetaClass::zero;
  std::int64_t batch = 1;  ///< entries or groups; 1 if the batch mode is single; 0: nothing to do
  std::int64_t stride_a = 0, stride_b = 0,
               stride_c = 0;  ///< elements from one entry to the next; D has C's. 0 if single

  friend bool operator==(const Problem&, const Problem&) = default;

  std::int64_t a_rows() const { return trans.a ? k : m; }
  std::int64_t a_cols() const { return trans.a ? m : sparsity == Sparsity::a ? k / 2 : k; }
  std::int64_t b_rows() const { return trans.b ? n : k; }
  std::int64_t b_cols() const { return !trans.b ? n : sparsity == Sparsity::b ? k / 2 : k; }
  /// How many matrices A, C and D there are with M rows each. A grouped problem has one, which its groups share.
  std::int64_t entries() const { return batch_mode == BatchMode::grouped && batch > 1 ? 1 : batch; }
  std::int64_t d_cols() const { return epilogue.is_gated() ? n / 2 : n; }
  /// This and the following are totals over all entries.
  double flop() const { return 2.0 * double(m) * double(n) * double(k) * double(entries()); }
  /// "effective operations": M·K + (2K−1)·M·N + 2·M·N.
  double effective_ops() const;
  /// Bytes of storage from the first to the last element of the last entry.
  std::int64_t a_bytes() const;
  std::int64_t b_bytes() const;
  std::int64_t c_bytes() const;
};

/// A problem with packed rows (lda = columns of A as stored, ...), default alignment, β = 0, and one entry if it is a
/// batch.
Problem packed_problem(const KernelSignature& signature, std::int64_t m, std::int64_t n, std::int64_t k);

/// The same problem with its entries (or the B of its groups) packed one behind the other. In other modes strides are
/// 0.
Problem with_packed_strides(Problem problem);

/// A strided batch of `batch` such problems, each matrix packed behind the one before: strides are stored rows times
/// the leading dimension.
Problem batched(Problem problem, std::int64_t batch);

/// A pointer batch of `batch` such problems. Its strides are those of batched(), by which the tuner lays out its own
/// entries.
Problem by_pointers(Problem problem, std::int64_t batch);

/// The same problem with α and β from the host.
Problem with_host_scalars(Problem problem);

/// The same problem without its epilogue, with α and β from the host. If the epilogue is gated, the sister's C has
/// twice the columns and twice the row stride.
Problem sister_of(Problem problem);
/// The same with β = 0: what all sisters share.
Problem plainest_sister(Problem problem);
/// Whether two problems differ only in epilogue, beta class, and where α and β are. What is fast for one is a good
/// guess for the other.
bool are_sisters(const Problem& a, const Problem& b);

/// One entry of a batch as a single problem. A grouped problem gives all its rows with one B, a single problem itself.
Problem entry_of(Problem problem);

/// The same problem with its rows split among `groups` groups, each group's B packed behind the one before.
Problem grouped(Problem problem, std::int64_t groups);

/// The strided batch by which a grouped problem's time is estimated: one entry for each group that has rows in an even
/// split, with that group's rows. Any other problem is returned as it is.
Problem evenly_split(const Problem& problem);

/// The largest number of tiles of `tile_rows` rows over all entries or groups. No tile has rows of two groups.
std::int64_t most_tile_rows(const Problem& problem, std::int64_t tile_rows);

/// The same problem without what has no effect: the row stride of a matrix with one row, and the distance between
/// entries if there is only one, become those of packed storage. `c_apart` is dropped if C is not read, or if other
/// terms of the epilogue imply it. Problems from a text, C, C++, a call of cuBLAS or a database are made canonical.
Problem canonical(Problem problem);

/// The only check of whether a problem is well formed. nullopt if it is; else one line that names the field and what
/// was expected. Dimensions of 0 and a batch of 0 are well formed: there is nothing to do, as BLAS defines it. Fields
/// that canonical() replaces may have any value.
std::optional<std::string> problem_error(const Problem& problem);

/// Canonical text: "f16f32 NN 1024 1024 1024". It is followed by " lda=.. ldb=.. ldc=.. align=.. beta=any batch=.." if
/// these differ from packed_problem(), by " stride_a=.. stride_b=.. stride_c=.." if these differ from batched(), and by
/// the signature's options. Two problems are equal exactly if their texts are.
std::string text(const Problem& problem);

/// The part of the text behind M, N and K, with a space before each word; empty for a packed problem with β = 0.
std::string extras_text(const Problem& problem);

/// Reads the text of a problem and makes it canonical(). Returns nullopt and sets `error` (one line, what was expected)
/// if it does not parse or problem_error() refuses it.
std::optional<Problem> parse_problem(std::string_view text, std::string& error);

/// The problem as families are asked about it and as it is planned. The row stride of a matrix that is stored as one
/// row is never used, so it is rounded up to a multiple of 16 bytes; the pointer alone then decides how the row is
/// aligned. The same holds for the strides of a batch of one.
Problem as_planned(const Problem& problem);

/// The widest copy in bytes (1..16, a power of two) at which every row of a matrix starts aligned, given its
/// row stride in elements.
int row_align_bytes(const Problem& problem, Scalar element, std::int64_t row_stride);
/// The same for all entries of A, B and C.
int a_align_bytes(const Problem& problem);
int b_align_bytes(const Problem& problem);
int c_align_bytes(const Problem& problem);

}  // namespace tilesmith
