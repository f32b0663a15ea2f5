// What a kernel is to the device: its machine code as a cubin holds it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilesmith::runtime {

/// All sections of a cubin (an ELF file) that belong to the kernel `entry`, with their names, sizes, flags and contents, and its
/// registers: instructions, constants, shared memory, what the driver is told of it. Two kernels of which this is the same run the
/// same. Other kernels of the module count for nothing, nor do variables of the module that this one does not read.
/// Empty if there is no such kernel, or if this is no cubin (PTX), or a corrupt one.
std::optional<std::string> machine_code(std::span<const std::byte> cubin, std::string_view entry);

}  // namespace tilesmith::runtime
