// Family `wmma`: tensor cores through nvcuda::wmma fragments, straight from global memory or staged in shared memory.
#pragma once

#include "kernels/families/family.hpp"

namespace tilesmith {

std::unique_ptr<Family> make_wmma();

namespace wmma {

inline constexpr int kWarpThreads = 32;

/// What wmma.cu derives from its constants, derived from the config: names as there.
struct Geometry {
  int frag_k, warps, block_m, block_n;
  std::int64_t smem_bytes;
  int accumulator_registers, operand_registers;  // a thread

  Geometry(const Config& config, const TypePair& type, Transposes trans);
};

bool supports(const KernelTarget& target);
std::vector<Parameter> parameters(const KernelTarget& target);
std::vector<Rule> rules(const KernelTarget& target);

/// Why the config's fragments, read straight from global memory, cannot span the problem's rows; empty if they can.
std::optional<std::string> out_of_reach(const Config& config, const Problem& problem);

/// Values of parameters that depend on the type pair.
std::vector<int> fragment_sizes(const TypePair& type);
std::vector<int> k_steps(const TypePair& type);
std::vector<int> copy_widths(const TypePair& type);

// Of operands below a byte: a template of its own (sub_byte.cu), with a small space.
std::vector<Parameter> sub_byte_parameters();
std::vector<Rule> sub_byte_rules();
std::vector<Config> sub_byte_configs();
LaunchSequence sub_byte_launches(const Config& config, const Problem& problem);

std::vector<Config> initial_configs(const KernelTarget& target);
/// Slowest first.
std::vector<NamedConfig> ladder(const KernelTarget& target);

}  // namespace wmma
}  // namespace tilesmith
