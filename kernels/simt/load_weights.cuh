// A K-step of op(B) as weights, in simt.cu (macro TILESMITH_WEIGHTS).
#pragma once

namespace tilesmith {

// As load_step() fills shared memory, each weight multiplied with its scale on the way in.
__device__ __forceinline__ void load_weights(Stored* shared, const GemmArgs& args, int k0, int n0) {
  for (int e = int(threadIdx.x); e < kBlockK * kBlockN; e += kThreads) {
    const int row = e % kBlockK, at = e / kBlockK, k = k0 + row;
#ifdef TILESMITH_GATED
    const int pair = n0 / 2 + at % kBlockPairs;
    const int n = pair >= args.n / 2 ? args.n : at < kBlockPairs ? column_of_x(pair) : column_of_y(pair, args.n);
#else
    const int n = n0 + at;
#endif
    shared[row * kStrideB + at] = n < args.n && k < args.k ? weight(args, n, k) : 0.0F;
  }
}

}  // namespace tilesmith
