// A launch of a plan, made ready for the device that is there: its kernel, its grid, its launch attributes.
#pragma once

#include <array>

#include "kernels/families/launch.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/driver/driver.hpp"

namespace tilesmith::runtime {

/// The grid, the block and what goes with them, but for the stream; `attributes` outlives it. `overlaps`: as the
/// launch's `overlaps_previous` says, or false for all that.
CUlaunchConfig launch_config(
    const Driver& driver, const Launch& launch, bool overlaps, std::array<CUlaunchAttribute, 2>& attributes) noexcept;

/// Finds the launch's kernel and fits its grid, its shared memory and its neighbours to the device of the current
/// context. `most_sms`: as Plan has it. Throws DeviceError if the kernel is missing or wants more than the device
/// gives: a plan that could never run is refused here and not at its first run.
CUfunc_st* prepare_launch(const Driver& driver, const Module& module, Launch& launch, int most_sms);

}  // namespace tilesmith::runtime
