// Family `simt`: plain FMA and dp4a on CUDA cores. Correct for every type pair, layout, leading dimension and alignment
// on any sm_80+ device: the generic level of the runtime, and a baseline.
#pragma once

#include "kernels/families/estimate.hpp"

namespace tilesmith {

std::unique_ptr<Family> make_simt();

/// A legal config that refuses no problem.
Config simt_generic_config(const KernelTarget& target);

namespace simt {

/// What simt.cu derives from its constants, derived from the config: names as there.
struct Geometry {
  int entries;     // of a batch, in a block
  int threads;     // of an entry
  int smem_bytes;  // static, of a block
  int registers;   // a thread: sums and one row of operands

  Geometry(const Config& config, const TypePair& type) {
    const int block_m = config.at("block_m"), block_n = config.at("block_n");
    const int thread_m = config.at("thread_m"), thread_n = config.at("thread_n");
    entries = config.has("entries") ? config.at("entries") : 1;
    const int pack = size_bits(type.a) == 1 ? 32 : is_integer(type.a) ? 4 : 1;  // bits go 32 to a word, integers four
    const int word = type.a == Scalar::f64 ? 8 : 4;
    threads = (block_m / thread_m) * (block_n / thread_n);
    smem_bytes = (config.at("block_k") / pack) * (block_m + 1 + block_n + 1) * word * entries;
    registers = (thread_m * thread_n + thread_m + thread_n) * word / 4;
  }
};

/// Elements with scales of blocks are f32 in shared memory and registers.
inline const TypePair& multiplied_as(const KernelSignature& signature) {
  return signature.epilogue.has_block_scales() ? *find_type_pair("f32f32") : signature.type;
}

/// Entries of a batch may be several to a block; groups are not known before the kernel runs.
inline bool shares_blocks(const KernelSignature& signature) {
  return signature.batch_mode == BatchMode::strided || signature.batch_mode == BatchMode::pointers;
}

std::optional<Estimate> estimate(const Config& config, const KernelTarget& target, const Problem& problem);

std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem, const std::vector<Rule>& rules);

}  // namespace simt
}  // namespace tilesmith
