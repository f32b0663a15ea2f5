// How the family `wmma` gets its operands and multiplies them: straight from global memory, or staged in shared memory.
#pragma once

#include "kernels/shared/gemm_args.cuh"
#include "kernels/wmma/fragments.cuh"

namespace tilesmith {

// ---- operands straight from global memory -----------------------------------------------------------------------

// One fragment of the matrix [rows, cols] whose first element is (row, col). Fragments that reach over the edge are
// gathered, zero-filled, in the warp's scratch.
template <typename Fragment, int FragRows, int FragCols>
__device__ __forceinline__ void load_from_global(Fragment& fragment, const Operand* matrix, long long ld, int row,
                                                 int col, int rows, int cols, Operand* scratch) {
  if (row + FragRows <= rows && col + FragCols <= cols) {
    wmma::load_matrix_sync(fragment, matrix + row * ld + col, unsigned(ld));
  } else {
    __syncwarp();
    for (int e = int(threadIdx.x % 32); e < FragRows * FragCols; e += 32) {
      const int r = row + e / FragCols;
      const int c = col + e % FragCols;
      scratch[e] = r < rows && c < cols ? matrix[r * ld + c] : Operand(0);
    }
    __syncwarp();
    wmma::load_matrix_sync(fragment, scratch, FragCols);
  }
  round_operands(fragment);
}

__device__ __forceinline__ void accumulate_from_global(WarpTile& tile, const GemmArgs& args, int m0, int n0,
                                                       Operand* scratch) {
  const Operand* a = static_cast<const Operand*>(args.a);
  const Operand* b = static_cast<const Operand*>(args.b);
  // A warp whose tile lies outside C multiplies nothing; it owns no barrier that others wait at.
  if (m0 >= args.m || n0 >= args.n) return;
  for (int k = 0; k < args.k; k += kFragK) {
    FragmentA fa[kFragsM];
    FragmentB fb[kFragsN];
#pragma unroll
    for (int i = 0; i < kFragsM; ++i) {
      const int m = m0 + i * kFragM;
      if constexpr (kTransA) {
        load_from_global<FragmentA, kFragK, kFragM>(fa[i], a, args.lda, k, m, args.k, args.m, scratch);
      } else {
        load_from_global<FragmentA, kFragM, kFragK>(fa[i], a, args.lda, m, k, args.m, args.k, scratch);
      }
    }
#pragma unroll
    for (int j = 0; j < kFragsN; ++j) {
      const int n = n0 + j * kFragN;
      if constexpr (kTransB) {
        load_from_global<FragmentB, kFragN, kFragK>(fb[j], b, args.ldb, n, k, args.n, args.k, scratch);
      } else {
        load_from_global<FragmentB, kFragK, kFragN>(fb[j], b, args.ldb, k, n, args.k, args.n, scratch);
      }
    }
    tile.multiply(fa, fb);
  }
}

// ---- operands staged in shared memory ---------------------------------------------------------------------------

// The block's copies of both operands, one K-step after the other.
struct StepCopy {
  TileCopy<Operand, PaddedTile<kTileRowsA, kTileColsA, kStrideA>, kCopyBytes, kThreads, kAsync, kTransA, kBlockK> a;
  TileCopy<Operand, PaddedTile<kTileRowsB, kTileColsB, kStrideB>, kCopyBytes, kThreads, kAsync, !kTransB, kBlockK> b;

  __device__ __forceinline__ StepCopy(const GemmArgs& args, int block_m0, int block_n0)
      : a(static_cast<const Operand*>(args.a), args.lda, kTransA ? 0 : block_m0, kTransA ? block_m0 : 0,
          kTransA ? args.k : args.m, kTransA ? args.m : args.k),
        b(static_cast<const Operand*>(args.b), args.ldb, kTransB ? block_n0 : 0, kTransB ? 0 : block_n0,
          kTransB ? args.n : args.k, kTransB ? args.k : args.n) {}

  // How many steps, from the first on, can be copied as next<true>.
  static __device__ __forceinline__ int whole_steps(const GemmArgs& args, int block_m0, int block_n0) {
    const bool whole = decltype(a)::splits_whole(block_m0, args.m) && decltype(b)::splits_whole(block_n0, args.n);
    return whole ? args.k / kBlockK : 0;
  }

  template <bool Whole>
  __device__ __forceinline__ void next(Operand* stage) {
    a.template step<Whole>(stage);
    b.template step<Whole>(stage + kStageElementsA);
  }
};

// The operands of one slab: a warp's fragments of kFragK along K.
struct Slab {
  FragmentA a[kFragsM];
  FragmentB b[kFragsN];

  // k: the slab's first element within the staged step.
  __device__ __forceinline__ void load_a(int i, const Operand* stage, int warp_m0, int k) {
    const int m = warp_m0 + i * kFragM;
    load_from_shared(a[i], stage + (kTransA ? k * kStrideA + m : m * kStrideA + k), kStrideA);
    round_operands(a[i]);
  }
  __device__ __forceinline__ void load_b(int j, const Operand* stage, int warp_n0, int k) {
    const int n = warp_n0 + j * kFragN;
    load_from_shared(b[j], stage + kStageElementsA + (kTransB ? n * kStrideB + k : k * kStrideB + n), kStrideB);
    round_operands(b[j]);
  }
  __device__ __forceinline__ void load(const Operand* stage, int warp_m0, int warp_n0, int k) {
#pragma unroll
    for (int i = 0; i < kFragsM; ++i) load_a(i, stage, warp_m0, k);
#pragma unroll
    for (int j = 0; j < kFragsN; ++j) load_b(j, stage, warp_n0, k);
  }
};

constexpr int kSlabs = kBlockK / kFragK;
constexpr int kStageElements = kStageElementsA + kStageElementsB;

// The ring of stages: where the next step is read, and where a later one is written.
struct Ring {
  Operand* begin;
  Operand* reading;
  Operand* writing;

  __device__ __forceinline__ explicit Ring(Operand* shared)
      : begin(shared), reading(shared), writing(shared + (kStages - 1) * kStageElements) {}
  __device__ __forceinline__ void next_to_read() { reading = after(reading); }
  __device__ __forceinline__ void next_to_write() { writing = after(writing); }

 private:
  __device__ __forceinline__ Operand* after(Operand* stage) const {
    return stage == begin + (kStages - 1) * kStageElements ? begin : stage + kStageElements;
  }
};

// Waits until the oldest step in flight has landed for every warp; the slot read before it may be written from here on.
__device__ __forceinline__ void wait_for_step() {
  if constexpr (kAsync) async_wait<kStages - 2>();
  __syncthreads();
}

// Starts the copy of one more step.
template <bool Whole>
__device__ __forceinline__ void copy_ahead(StepCopy& copy, Ring& ring) {
  copy.next<Whole>(ring.writing);
  ring.next_to_write();
}

// Multiplies the steps [first, last), kFragBuffers = 1: a slab is loaded, then multiplied. The copy of a later step is
// started between the first loads and their use, so that its address arithmetic hides the loads' latency.
template <bool Whole>
__device__ __forceinline__ void multiply_steps(
    WarpTile& tile, StepCopy& copy, Ring& ring, int first, int last, int steps, int warp_m0, int warp_n0) {
  for (int step = first; step < last; ++step) {
    wait_for_step();
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab) {
      Slab now;
      now.load(ring.reading, warp_m0, warp_n0, slab * kFragK);
      if (slab == 0) {
        if (Whole || step + kStages - 1 < steps) copy_ahead<Whole>(copy, ring);
        if constexpr (kAsync) async_commit();  // also when empty: the wait counts groups
      }
      tile.multiply(now.a, now.b);
    }
    ring.next_to_read();
  }
}

// The same with kFragBuffers = 2: between the products of a slab the fragments of the next one are loaded; the last
// slab of a step waits for the next step first, so that the barrier too is hidden behind products that are under way.
// slabs[0] holds the first slab of step `first`, and in the end that of step `last` if there is one.
template <bool Whole>
__device__ __forceinline__ void multiply_steps_ahead(WarpTile& tile, Slab (&slabs)[2], StepCopy& copy, Ring& ring,
    int first, int last, int steps, int warp_m0, int warp_n0) {
  static_assert(
      kFragBuffers == 1 || kSlabs % 2 == 0, "the two buffers must change places a whole number of times a step");
  for (int step = first; step < last; ++step) {
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab) {
      Slab& now = slabs[slab % 2];
      Slab& next = slabs[(slab + 1) % 2];
      if (slab + 1 == kSlabs) {
        // After the last step this waits for nothing and what is loaded is not used: cheaper than a branch.
        wait_for_step();
        ring.next_to_read();
      }
      const int k = (slab + 1) % kSlabs * kFragK;
#pragma unroll
      for (int i = 0; i < kFragsM; ++i) {
        next.load_a(i, ring.reading, warp_m0, k);
#pragma unroll
        for (int j = i * kFragsN / kFragsM; j < (i + 1) * kFragsN / kFragsM; ++j) {
          next.load_b(j, ring.reading, warp_n0, k);
        }
        if (slab == 0 && i == 0) {
          if (Whole || step + kStages - 1 < steps) copy_ahead<Whole>(copy, ring);
          if constexpr (kAsync) async_commit();  // also when empty: the wait counts groups
        }
        tile.multiply_row(i, now.a[i], now.b);
      }
    }
  }
}

__device__ __forceinline__ void accumulate_staged(WarpTile& tile, const GemmArgs& args, int block_m0, int block_n0,
                                                  int warp_m0, int warp_n0, Operand* shared) {
  const int steps = (args.k + kBlockK - 1) / kBlockK;
  StepCopy copy(args, block_m0, block_n0);
  if constexpr (kStages == 1) {
    const int whole = StepCopy::whole_steps(args, block_m0, block_n0);
    for (int step = 0; step < steps; ++step) {
      if (step < whole) {
        copy.next<true>(shared);
      } else {
        copy.next<false>(shared);
      }
      __syncthreads();  // the step has landed
#pragma unroll
      for (int slab = 0; slab < kSlabs; ++slab) {
        Slab now;
        now.load(shared, warp_m0, warp_n0, slab * kFragK);
        tile.multiply(now.a, now.b);
      }
      __syncthreads();  // and is no longer read
    }
  } else {
#pragma unroll
    for (int step = 0; step < kStages - 1; ++step) {
      if (step < steps) copy.next<false>(shared + step * kStageElements);
      if constexpr (kAsync) async_commit();
    }
    Ring ring(shared);
    // In the first part every copy that is started is one of a whole step.
    const int part = max(0, StepCopy::whole_steps(args, block_m0, block_n0) - (kStages - 1));
    if constexpr (kFragBuffers == 1) {
      multiply_steps<true>(tile, copy, ring, 0, part, steps, warp_m0, warp_n0);
      multiply_steps<false>(tile, copy, ring, part, steps, steps, warp_m0, warp_n0);
    } else {
      Slab slabs[2];
      wait_for_step();
      slabs[0].load(ring.reading, warp_m0, warp_n0, 0);
      multiply_steps_ahead<true>(tile, slabs, copy, ring, 0, part, steps, warp_m0, warp_n0);
      multiply_steps_ahead<false>(tile, slabs, copy, ring, part, steps, steps, warp_m0, warp_n0);
    }
    if constexpr (kAsync) async_wait<0>();
    __syncthreads();  // before the epilogue takes the memory over
  }
}

}  // namespace tilesmith
