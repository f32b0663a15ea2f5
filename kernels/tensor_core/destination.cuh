// Where a work item's sums go: into C with α and β, as a slice's partial sums into the workspace, or added to C atomically.
#pragma once

#include "kernels/common/scale.cuh"
#include "kernels/tensor_core/either.cuh"
#include "kernels/tensor_core/pass_layout.cuh"
#include "kernels/tensor_core/work.cuh"

namespace tilesmith {

using Stored = Either<kPartials, Accumulator, Output>;
constexpr int kStoredVector = 16 / int(sizeof(Stored));

template <int Count>
struct alignas(Count * sizeof(Stored) < 16 ? Count * sizeof(Stored) : 16) StoredVector {
  Stored x[Count];
};

class Destination {
 public:
  __device__ __forceinline__ Destination(const GemmArgs& args, int slice)
      : m_(args.m), n_(args.n), alpha_(scale_as<ScaleType>(args.alpha)), beta_(scale_as<ScaleType>(args.beta)) {
    if constexpr (kPartials) {
      stride_ = partial_stride(args.n);
      rows_ = static_cast<Stored*>(args.workspace) + slice * (args.m * stride_);
    } else {
      stride_ = args.ldc;
      rows_ = static_cast<Stored*>(args.c);
    }
    // Uniform over the launch: how far every row's start is aligned.
    align_ = unsigned(reinterpret_cast<unsigned long long>(rows_) | (stride_ * sizeof(Stored)));
  }

  // Whether 16-byte stores are possible; the same for the whole launch.
  __device__ __forceinline__ bool takes_vectors() const { return align_ % 16 == 0 && !kAtomicAdds; }

  // Whether what C holds does not matter.
  __device__ __forceinline__ bool overwrites() const { return kPartials || beta_ == ScaleType(0); }

  __device__ __forceinline__ int rows() const { return m_; }
  __device__ __forceinline__ int cols() const { return n_; }
  __device__ __forceinline__ long long stride() const { return stride_; }  // of rows, elements
  __device__ __forceinline__ Stored* place(int m, int n) const { return rows_ + m * stride_ + n; }

  // Sums as they are stored where what C holds does not matter.
  template <int Count>
  __device__ __forceinline__ void finish(const Accumulator (&sums)[Count], Stored (&out)[Count]) const {
#pragma unroll
    for (int e = 0; e < Count; ++e) out[e] = finished(sums[e]);
  }

  // Sums of C[m][n .. n + Count) as they are stored; anything where they lie outside C. Rows of C start at multiples of
  // 16 bytes, n at one of Count.
  template <bool kOverwrites, int Count>
  __device__ __forceinline__ void finish_at(int m, int n, const Accumulator (&sums)[Count],
                                            Stored (&out)[Count]) const {
    if constexpr (kOverwrites) {
      finish(sums, out);
    } else {
      StoredVector<Count> old = {};
      if (m < m_ && n + Count <= n_) {
        old = *reinterpret_cast<const StoredVector<Count>*>(place(m, n));
      } else if (m < m_) {
#pragma unroll
        for (int e = 0; e < Count; ++e) {
          if (n + e < n_) old.x[e] = *place(m, n + e);
        }
      }
#pragma unroll
      for (int e = 0; e < Count; ++e) out[e] = linear<Stored>(alpha_, sums[e], beta_, old.x[e]);
    }
  }

  // Stores sums that lie inside C, in one vector. Not for atomic adds.
  template <bool kOverwrites, int Count>
  __device__ __forceinline__ void put(Stored* to, const Accumulator (&sums)[Count]) const {
    using Vector = StoredVector<Count>;
    Vector out;
    if constexpr (kOverwrites) {
      finish(sums, out.x);
    } else {
      const Vector old = *reinterpret_cast<const Vector*>(to);
#pragma unroll
      for (int e = 0; e < Count; ++e) out.x[e] = linear<Stored>(alpha_, sums[e], beta_, old.x[e]);
    }
    *reinterpret_cast<Vector*>(to) = out;
  }

  // The same where it is not known beforehand.
  template <int Count>
  __device__ __forceinline__ void put_vector(Stored* to, const Accumulator (&sums)[Count]) const {
    if (overwrites()) {
      put<true>(to, sums);
    } else {
      put<false>(to, sums);
    }
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
        put_vector(to, sums);
      } else {
#pragma unroll
        for (int e = 0; e < Count; ++e) {
          if (n + e >= n_) break;
          const Accumulator one[1] = {sums[e]};
          put_vector(to + e, one);
        }
      }
    }
  }

 private:
  __device__ __forceinline__ Stored finished(Accumulator sum) const {
    if constexpr (kPartials) {
      return sum;
    } else {
      return linear<Stored>(alpha_, sum);
    }
  }

  Stored* rows_;
  long long stride_;
  int m_, n_;
  unsigned align_;
  ScaleType alpha_, beta_;
};

}  // namespace tilesmith
