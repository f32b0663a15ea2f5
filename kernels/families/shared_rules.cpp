#include "kernels/families/shared_rules.hpp"

#include <algorithm>

#include "kernels/families/passes.hpp"
#include "kernels/shared/store/block_memory.cuh"

namespace tilesmith::tensor_core {
namespace {

/// The `most` shortest, in their order; equal ones keep theirs.
void keep_shortest(std::vector<Ranking::Candidate>& candidates, std::size_t most) {
  std::stable_sort(
      candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (candidates.size() > most) candidates.erase(candidates.begin() + std::ptrdiff_t(most), candidates.end());
}

}  // namespace

Names with(Names names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

std::vector<Rule> joined(std::initializer_list<std::vector<Rule>> parts) {
  std::vector<Rule> all;
  for (const std::vector<Rule>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

bool has_instruction(Scalar operand) {
  switch (operand) {
    case Scalar::f16:
    case Scalar::bf16:
    case Scalar::tf32:
    case Scalar::f32x3:
    case Scalar::s8:
    case Scalar::u8:
    case Scalar::f64:
    case Scalar::s4:
    case Scalar::u4:
    case Scalar::b1:
    case Scalar::b1xor: return true;
    default: return false;
  }
}

bool packs_for(const KernelSignature& signature) {
  return signature.type.a != Scalar::f32x3 ||
         (!signature.epilogue.is_gated() && signature.batch_mode != BatchMode::grouped);
}

Rule reduction_rule() {
  return {"reduction", "without split K there is nothing to add",
      [](const Config& c) { return c.at("split_k") > 1 || c.at("reduction") == through_workspace; },
      {"split_k", "reduction"}};
}

Rule atomic_adds_rule(const KernelSignature& signature) {
  const bool possible =
      size_bytes(signature.type.output) >= 4 && signature.epilogue.is_linear() && !makes_integers_real(signature.type);
  return {"atomic adds",
      "there are atomic adds of 32 and 64 bits, and an epilogue that is not linear needs the whole sum",
      [possible](const Config& c) { return c.at("split_k") == 1 || c.at("reduction") != atomic || possible; },
      {"split_k", "reduction"}};
}

std::vector<Rule> group_rules(const KernelSignature& signature) {
  if (signature.batch_mode != BatchMode::grouped) return {};
  return {{"rows of groups",
      "slices of K are added within a cluster: a pass over D would write rows that belong to no group",
      [](const Config& c) {
        return c.at("split_k") == 1 || (c.at("reduction") == within_cluster && partial_slices(c) == 1);
      },
      {"split_k", "reduction"}}};
}

std::vector<Rule> pointer_rules(const KernelSignature& signature, const std::string& maps) {
  if (signature.batch_mode != BatchMode::pointers) return {};
  return {{"tensor maps of entries",
      "tensor maps are made on the host, which does not know where the entries lie: what is copied by one is packed first",
      [maps](const Config& c) { return c.at("pack") == (pack_a | pack_b) || (!maps.empty() && c.at(maps) == 0); },
      maps.empty() ? Names{"pack"} : Names{"pack", maps}}};
}

std::vector<Rule> pointer_store_rules(const KernelSignature& signature) {
  if (signature.batch_mode != BatchMode::pointers) return {};
  return {{"boxes of entries",
      "the tensor map of a C that is stored in boxes is made on the host, which does not know where the entries lie",
      [](const Config& c) { return c.at("store_tma") == 0; }, {"store_tma"}}};
}

Rule byte_results_rule(const KernelSignature& signature) {
  const bool of_bytes = has_byte_results(signature.type);
  const int whole = signature.epilogue.is_gated() ? 32 : 16;
  return {"results of a byte",
      "rows of a tile in shared memory are stored by 16 bytes: columns of D in multiples of 16 where a result is a byte",
      [=](const Config& c) { return !of_bytes || c.at("block_n") % whole == 0; }, {"block_n"}};
}

int blocks_by_shared_memory(int bytes, const DeviceLimits& limits) {
  constexpr int kSystemBytes = 1024;  // of each block
  return limits.smem_per_sm_bytes / (bytes + kSystemBytes);
}

bool fits_shared_memory(int bytes, int min_blocks, const DeviceLimits& limits) {
  return bytes <= limits.smem_per_block_bytes && blocks_by_shared_memory(bytes, limits) >= min_blocks;
}

bool leaves_workspace_to_packing(const Config& config) {
  return config.at("split_k") == 1 || (config.at("reduction") == within_cluster && partial_slices(config) == 1);
}

double instructions_of_numbers(const KernelTarget& target) {
  if (size_bytes(target.type.a) == 1) return 11;  // shared/multiply/code_bytes.cuh
  const bool bf16 = target.type.a == Scalar::bf16;
  switch (target.weights.type) {
    case WeightType::s8: return bf16 ? 16 : 8;
    case WeightType::e4m3: return target.limits.features.fp8 ? (bf16 ? 16 : 4) : (bf16 ? 36 : 24);
    case WeightType::e2m1: return bf16 ? 20 : 18;
    case WeightType::nf4: return 42;
    case WeightType::q6_k: return bf16 ? 17 : 15;
    default: return bf16 ? 11 : 9;
  }
}

void Ranking::add_tile(std::vector<Candidate> candidates) {
  keep_shortest(candidates, of_tile_);
  ranked_.insert(ranked_.end(), candidates.begin(), candidates.end());
}

std::vector<Config> Ranking::shortest(std::size_t most) && {
  keep_shortest(ranked_, most);
  std::vector<Config> found;
  for (auto& [estimate, config] : ranked_) found.push_back(std::move(config));
  return found;
}

}  // namespace tilesmith::tensor_core
