// Launches that overlap (programmatic dependent launch, sm_90): a launch's blocks come while the last of the one before
// still run, and wait for its results. The host launches them so (Launch::overlaps_previous):
//   kOverlap       the launches of one sequence
//   kEarlyLaunch   and the first of a sequence, behind another sequence's or any kernel that the stream ran before it
#pragma once

namespace tilesmith {

constexpr bool kLaunchesOverlap = kOverlap != 0 || kEarlyLaunch != 0;

// Until the launch before has ended and its stores are seen here. Nothing that it writes may be touched before.
__device__ __forceinline__ void wait_for_launch_before() {
  if constexpr (kLaunchesOverlap) asm volatile("griddepcontrol.wait;" ::: "memory");
}

// The same in a launch that begins a sequence, and overlaps none of it.
__device__ __forceinline__ void wait_for_stream() {
  if constexpr (kEarlyLaunch != 0) asm volatile("griddepcontrol.wait;" ::: "memory");
}

// From here on the blocks of the launch after this one may come, once all of this one have said so.
__device__ __forceinline__ void let_launch_after_come() {
  if constexpr (kLaunchesOverlap) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// The same in the last launch of a sequence: what comes after it is the next one's first.
__device__ __forceinline__ void let_stream_come() {
  if constexpr (kEarlyLaunch != 0) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace tilesmith
