#include "kernels/mma/mma.hpp"

namespace tilesmith::mma {

std::vector<Rule> sparse_rules(const KernelTarget& target) {
  if (target.sparsity == Sparsity::dense) return {};
  const int of_sparse = target.sparsity == Sparsity::b ? pack_b : pack_a;
  const bool is_tf32 = target.type.a == Scalar::tf32, fuses_b = target.sparsity == Sparsity::b && is_fused(target);
  const Transposes trans = target.trans;
  const bool bytes_of_b = size_bytes(target.type.a) == 1 && target.sparsity == Sparsity::b;
  return {
      {"bytes beside a sparse B",
          "of an A that lies along M a thread would have sums of four rows side by side, which are not stored: it is packed K-major",
          [bytes_of_b, trans](const Config& c) { return !bytes_of_b || a_k_major(c, trans); },
          {"pack", "pack_k_major"}},
      {"registers of large warps",
          "tiles of 64x64 fill them: in long K-steps of tf32, and where sums of a sparse B are fused, the rest spills",
          [is_tf32, fuses_b](const Config& c) {
            return c.at("warp_m") * c.at("warp_n") < 64 * 64 || (!fuses_b && (!is_tf32 || c.at("block_k") <= 32));
          },
          {"warp_m", "warp_n", "block_k"}},
      {"packing of a sparse operand", "its rows are read as they lie, with metadata that are made for them",
          [of_sparse](const Config& c) { return (c.at("pack") & of_sparse) == 0; }, {"pack"}},
      {"copies beside metadata", "these are copied by cp.async, and so are operands: 4 bytes at least",
          [](const Config& c) { return c.at("copy_bytes") >= 4; }, {"copy_bytes"}},
  };
}

}  // namespace tilesmith::mma
