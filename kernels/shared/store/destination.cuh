// Where a work item's sums go: into C with α and β, as a slice's partial sums into the workspace, or added to C
// atomically.
#pragma once

#include "kernels/shared/finish/fused.cuh"
#include "kernels/shared/finish/gate.cuh"
#include "kernels/shared/work/work.cuh"

namespace tilesmith {

using Stored = Either<kPartials, Accumulator, Output>;
constexpr bool kBlends = !kPartials && !kAtomicAdds;  // those have no β, or a launch of their own for it
constexpr int kStoredVector = 16 / int(sizeof(Stored));

template <int Count>
struct alignas(Count * sizeof(Stored) < 16 ? Count * sizeof(Stored) : 16) StoredVector {
  Stored x[Count];
};

// What C holds of a run of neighbours, as it was loaded: taken apart only where it is used, so that the load is not
// waited for.
template <int Count>
class Held {
  static constexpr int kBytes = Count * int(sizeof(Stored));
  struct alignas(kBytes < 16 ? kBytes : 16) Words {
    Either<kBytes == 1, unsigned char, Either<kBytes == 2, unsigned short, unsigned>> w[kBytes < 4 ? 1 : kBytes / 4];
  };

 public:
  __device__ __forceinline__ void load(const Stored* from) { words_ = *reinterpret_cast<const Words*>(from); }
  __device__ __forceinline__ Stored at(int e) const { return reinterpret_cast<const Stored*>(&words_)[e]; }
  __device__ __forceinline__ void set(int e, Stored value) { reinterpret_cast<Stored*>(&words_)[e] = value; }

 private:
  Words words_ = {};
};

class Destination {
 public:
  template <typename Args>  // PlainArgs or GemmArgs
  __device__ __forceinline__ Destination(const Args& args, int slice)
      : m_(args.m), n_(args.n), alpha_(scale_as<ScaleType>(args.alpha)), beta_(scale_as<ScaleType>(args.beta)) {
    if constexpr (kPartials) {
      n_ = tiled_columns(args);
      stride_ = partial_stride(n_);
      rows_ = static_cast<Stored*>(args.workspace) + slice * (args.m * stride_);
    } else {
      if constexpr (kIsGated) n_ = args.n / 2;
      stride_ = args.ldc;
      rows_ = static_cast<Stored*>(args.d);
    }
    if constexpr (kHasEpilogue) {
      held_ = static_cast<const Stored*>(args.c);
      vectors_ = {args.scale_m, args.scale_n, static_cast<const BiasType*>(args.bias)};
    } else {
      held_ = rows_;
    }
    // Uniform over the launch: how far every row's start is aligned.
    align_ = unsigned(reinterpret_cast<unsigned long long>(rows_) | (stride_ * sizeof(Stored)));
    if constexpr (kHasEpilogue) {
      if (!overwrites()) align_ |= unsigned(reinterpret_cast<unsigned long long>(held_));
    }
    pairs_ = args.n / 2;
  }

  // Whether 16-byte stores are possible; the same for the whole launch.
  __device__ __forceinline__ bool takes_vectors() const { return align_ % 16 == 0 && !kAtomicAdds; }

  // Whether rows consist of them; the same for the whole launch too.
  __device__ __forceinline__ bool is_whole_vectors() const { return takes_vectors() && n_ % kStoredVector == 0; }

  // Whether what C holds does not matter: β is 0, or was taken into the sums.
  __device__ __forceinline__ bool overwrites() const { return kPartials || beta_ == ScaleType(0); }

  __device__ __forceinline__ int rows() const { return m_; }
  __device__ __forceinline__ int cols() const { return n_; }
  __device__ __forceinline__ long long stride() const { return stride_; }  // of rows, elements
  __device__ __forceinline__ Stored* place(int m, int n) const { return rows_ + m * stride_ + n; }

  // Where C is read: with an epilogue it may lie apart from D. Not for partial sums.
  __device__ __forceinline__ const Stored* held_at(int m, int n) const { return held_ + m * stride_ + n; }
  // The same destination at those places, for code that only reads C.
  __device__ __forceinline__ Destination held() const {
    Destination at_c = *this;
    at_c.rows_ = const_cast<Stored*>(held_);
    return at_c;
  }
  __device__ __forceinline__ const BiasType* bias() const { return vectors_.bias; }
  __device__ __forceinline__ const float* scale_m() const { return vectors_.scale_m; }
  __device__ __forceinline__ const float* scale_n() const { return vectors_.scale_n; }
  __device__ __forceinline__ ScaleType alpha() const { return alpha_; }

  // The sums of D[m][n .. n + Count) times their scales, if there are any: before α, and before what C holds is added.
  template <int Count>
  __device__ __forceinline__ void scale_run(int m, int n, Accumulator (&sums)[Count]) const {
    if constexpr (kHasScales || kSumsBecomeReal) {
#pragma unroll
      for (int e = 0; e < Count; ++e) {
        if (m < m_ && n + e < n_) sums[e] = kept(times_scales(ScaleType(sums[e]), vectors_, m, n + e));
      }
    }
  }

  // What is left of the epilogue for the sums of D[m][n .. n + Count). kBlended: they have α and what C holds in them.
  template <bool kBlended, int Count>
  __device__ __forceinline__ void fuse_run(int m, int n, Accumulator (&sums)[Count]) const {
#pragma unroll
    for (int e = 0; e < Count; ++e) {
      BiasType bias = BiasType(0);
      if (kHasBias && m < m_ && n + e < n_) bias = this->bias()[kBiasAlongN ? n + e : m];
      const ScaleType sum = kBlended ? value_of(sums[e]) : scaled<ScaleType>(alpha_, value_of(sums[e]));
      sums[e] = kept(fused<ScaleType>(sum, bias));
    }
  }

  __device__ __forceinline__ int pairs() const { return pairs_; }
  // From then on D has at most so many columns.
  __device__ __forceinline__ void end_at(int column) {
    if (column < n_) n_ = column;
  }

  // x ← D[m][pair .. pair + Count), from the whole sums x and y.
  template <int Count>
  __device__ __forceinline__ void gate_run(
      int m, int pair, Accumulator (&x)[Count], const Accumulator (&y)[Count]) const {
#pragma unroll
    for (int e = 0; e < Count; ++e) {
      if (m < m_ && pair + e < pairs_)
        x[e] = kept(gated(
            before_gate(m, column_of_x(pair + e), x[e]), before_gate(m, column_of_y(pair + e, 2 * pairs_), y[e])));
    }
  }

  // Where sums go that α, β and the epilogue have been applied to.
  __device__ __forceinline__ Destination behind_epilogue() const {
    Destination to = *this;
    to.alpha_ = ScaleType(1);
    to.beta_ = ScaleType(0);
    to.is_fused_ = true;
    return to;
  }
  __device__ __forceinline__ bool is_fused() const { return is_fused_; }

  // Columns of C from n on; 0 where row m lies outside C.
  __device__ __forceinline__ int left(int m, int n) const { return m < m_ ? n_ - n : 0; }

  // Whether all runs of so many neighbours that begin at a multiple of it lie in C or outside, each at a multiple of
  // its bytes.
  template <int Count>
  __device__ __forceinline__ bool is_whole_runs() const {
    return Count == 1 || (align_ % alignof(StoredVector<Count>) == 0 && n_ % Count == 0);
  }

  // sums ← α·sums + β·what C holds. From then on they go to over().
  template <int Count>
  __device__ __forceinline__ void take(const Held<Count>& held, Accumulator (&sums)[Count]) const {
#pragma unroll
    for (int e = 0; e < Count; ++e)
      sums[e] = kept(linear<ScaleType>(alpha_, value_of(sums[e]), beta_, ScaleType(held.at(e))));
  }

  // Where sums go that have what C holds in them, or need nothing of it.
  __device__ __forceinline__ Destination over() const {
    Destination to = *this;
    if (!overwrites()) to.alpha_ = ScaleType(1);
    to.beta_ = ScaleType(0);
    return to;
  }

  // sums ← α·sums
  template <int Count>
  __device__ __forceinline__ void multiply(Accumulator (&sums)[Count]) const {
#pragma unroll
    for (int e = 0; e < Count; ++e) sums[e] = linear<Accumulator>(alpha_, sums[e]);
  }

  // Sums as they are stored, over whatever C holds.
  template <int Count>
  __device__ __forceinline__ void finish(const Accumulator (&sums)[Count], Stored (&out)[Count]) const {
#pragma unroll
    for (int e = 0; e < Count; ++e) out[e] = finished(sums[e]);
  }

  // Stores sums that lie inside C, in one vector. Not for atomic adds.
  template <int Count>
  __device__ __forceinline__ void put(Stored* to, const Accumulator (&sums)[Count]) const {
    StoredVector<Count> out;
    finish(sums, out.x);
    *reinterpret_cast<StoredVector<Count>*>(to) = out;
  }

  // Stores the sums of C[m][n .. n + Count); those outside C are left out.
  template <int Count>
  __device__ __forceinline__ void store(int m, int n, const Accumulator (&sums)[Count]) const {
    if (m >= m_ || n >= n_) return;
    Stored* to = place(m, n);
    if constexpr (kAtomicAdds) {
#pragma unroll
      for (int e = 0; e < Count; ++e) {
        if (n + e < n_) atomicAdd(to + e, linear<Output>(alpha_, sums[e]));
      }
    } else {
      if (align_ % alignof(StoredVector<Count>) == 0 && n + Count <= n_) {
        put(to, sums);
      } else {
#pragma unroll
        for (int e = 0; e < Count; ++e) {
          if (n + e >= n_) break;
          const Accumulator one[1] = {sums[e]};
          put(to + e, one);
        }
      }
    }
  }

 private:
  __device__ __forceinline__ ScaleType before_gate(int m, int n, Accumulator sum) const {
    const ScaleType product = scaled<ScaleType>(alpha_, times_scales(ScaleType(sum), vectors_, m, n));
    return kHasBias ? product + ScaleType(bias()[kBiasAlongN ? n : m]) : product;
  }
  __device__ __forceinline__ Stored finished(Accumulator sum) const {
    if constexpr (kPartials) return Stored(sum);
    return linear<Stored>(alpha_, value_of(sum));
  }

  Stored* rows_;
  long long stride_;
  int m_, n_;
  unsigned align_;
  ScaleType alpha_, beta_;
  // Used by epilogues only.
  const Stored* held_;  // C
  struct {
    const float *scale_m, *scale_n;
    const BiasType* bias;
  } vectors_ = {};
  bool is_fused_ = kPartials;  // partial sums get their epilogue after they are added
  int pairs_;                  // columns of D behind a gate
};

}  // namespace tilesmith
