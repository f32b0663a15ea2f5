// The kernels of a compiled module by their names in the source.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilesmith::runtime {

/// The symbols of all kernels of a cubin, or of PTX text, in their order. Empty for what is neither.
std::vector<std::string> kernel_symbols(std::span<const std::byte> image);

/// The bytes of each parameter of a cubin's kernel, in their order. Empty for a kernel without any, for PTX, and where
/// the cubin does not tell.
std::vector<std::size_t> parameter_bytes(std::span<const std::byte> image, const std::string& symbol);

/// The symbol of a kernel that the source calls so: "add", "sums::add", "softmax<64, 2>". Template arguments are
/// compared where the module has several of the name: numbers by value, whatever their type, others as they are
/// written. Empty if there is none, or more than one.
std::optional<std::string> symbol_of(const std::vector<std::string>& symbols, const std::string& entry);

}  // namespace tilesmith::runtime
