// Where a work item's sums go: into C with α and β, as a slice's partial sums into the workspace, or added to C atomically.
#pragma once

#include "kernels/common/scale.cuh"
#include "kernels/tensor_core/either.cuh"
#include "kernels/tensor_core/work.cuh"

namespace tilesmith {

using Stored = Either<kPartials, Accumulator, Output>;

// Row stride of a slice's partial sums, elements: rows start at 16-byte steps. The slices lie one after the other.
__host__ __device__ constexpr long long partial_stride(long long n) { return (n + 7) / 8 * 8; }

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

  // Whether C has this row and column.
  __device__ __forceinline__ bool holds(int m, int n) const { return m < m_ && n < n_; }

  // Whether what C holds does not matter.
  __device__ __forceinline__ bool overwrites() const { return !kAtomicAdds && (kPartials || beta_ == ScaleType(0)); }

  __device__ __forceinline__ long long stride() const { return stride_; }  // of rows, elements
  __device__ __forceinline__ Stored* place(int m, int n) const { return rows_ + m * stride_ + n; }

  // Stores a vector of sums; where overwrites() and takes_vectors().
  template <int Count>
  __device__ __forceinline__ void overwrite(Stored* to, const Accumulator (&sums)[Count]) const {
    StoredVector<Count> out;
#pragma unroll
    for (int e = 0; e < Count; ++e) out.x[e] = finished(sums[e]);
    *reinterpret_cast<StoredVector<Count>*>(to) = out;
  }

  // Stores the sums of C[m][n .. n + Count) in one vector: C holds them all, and takes_vectors().
  template <int Count>
  __device__ __forceinline__ void store_inside(int m, int n, const Accumulator (&sums)[Count]) const {
    put_vector(place(m, n), sums);
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
          put_one(to + e, sums[e]);
        }
      }
    }
  }

 private:
  __device__ __forceinline__ void put_one(Stored* to, Accumulator sum) const {
    *to = overwrites() ? finished(sum) : linear<Stored>(alpha_, sum, beta_, *to);
  }

  template <int Count>
  __device__ __forceinline__ void put_vector(Stored* to, const Accumulator (&sums)[Count]) const {
    if (overwrites()) {
      overwrite(to, sums);
    } else {
      using Vector = StoredVector<Count>;
      const Vector old = *reinterpret_cast<const Vector*>(to);
      Vector out;
#pragma unroll
      for (int e = 0; e < Count; ++e) out.x[e] = linear<Stored>(alpha_, sums[e], beta_, old.x[e]);
      *reinterpret_cast<Vector*>(to) = out;
    }
  }

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
