// The data of kernels of a user's own on the host: what their buffers hold before a launch, and whether what they hold
// after it is right. It needs no device.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "kernels/own/kernel.hpp"

namespace tilesmith::tuner {

/// Writes the argument's fill over all of the buffer, whose size is a multiple of an element's. The same seed gives the
/// same bytes. Values that the element cannot hold are rounded to nearest, and ramps wrap where integers do.
/// Throws std::runtime_error where the fill is a file that has more or fewer bytes, and DefinitionError where it cannot be
/// read.
void fill_own(const own::Argument& argument, std::uint64_t seed, std::span<std::byte> buffer);
/// The same from a file of expected values.
void read_own(const own::Argument& argument, const std::filesystem::path& file, std::span<std::byte> buffer);

/// One line about the first element that is not as expected: "out[3][5] is 7, expected 9 within 0.01 × 9: 12 of 4096
/// elements differ"; empty if all are right. `extents`: of the buffer, in elements; both spans have their product.
/// NaN is never right, and an expected NaN is told as the reference's.
std::optional<std::string> own_difference(const own::Argument& argument, const own::Tolerance& tolerance,
    std::span<const std::int64_t> extents, std::span<const std::byte> expected, std::span<const std::byte> found);

/// One line about the first element whose bits differ between two runs of one config; empty if none do.
std::optional<std::string> two_runs_difference(const own::Argument& argument, std::span<const std::int64_t> extents,
    std::span<const std::byte> first, std::span<const std::byte> second);

}  // namespace tilesmith::tuner
