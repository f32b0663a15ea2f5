// Launches of one sequence that overlap (programmatic dependent launch, sm_90): the next one's blocks come while the last of
// this one still run, and wait for its results. The host launches them so where kOverlap is set (Launch::overlaps_previous).
#pragma once

namespace tilesmith {

// Until the launch before has ended and its stores are seen here. Nothing that it writes may be touched before.
__device__ __forceinline__ void wait_for_launch_before() {
  if constexpr (kOverlap) asm volatile("griddepcontrol.wait;" ::: "memory");
}

// From here on the blocks of the launch after this one may come, once all of this one have said so.
__device__ __forceinline__ void let_launch_after_come() {
  if constexpr (kOverlap) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace tilesmith
