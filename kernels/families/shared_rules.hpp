// What the rules and first initial configs of the families that multiply on tensor cores by PTX have in common.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith::tensor_core {

/// Parameters that a rule reads.
using Names = std::vector<std::string>;
Names with(Names names, const Names& more);

/// Rules by what they are of, in their order.
std::vector<Rule> joined(std::initializer_list<std::vector<Rule>> parts);

/// Whether tensor cores multiply such operands at all.
bool has_instruction(Scalar operand);
/// Whether packing leaves operands as the epilogue and the instruction want them: not both in pairs and split.
bool packs_for(const KernelSignature& signature);

/// "Without split K there is nothing to add."
Rule reduction_rule();
/// "There are atomic adds of 32 and 64 bits, and they add what is linear."
Rule atomic_adds_rule(const KernelSignature& signature);

/// "Slices of groups are added by a cluster": none where there are no groups.
std::vector<Rule> group_rules(const KernelSignature& signature);

/// "Of entries that lie anywhere there are no tensor maps": none where there are no pointers. `maps`: the parameter
/// that asks for maps of the operands; empty: they are always taken.
std::vector<Rule> pointer_rules(const KernelSignature& signature, const std::string& maps);
/// The same of C, where the parameter store_tma is 1.
std::vector<Rule> pointer_store_rules(const KernelSignature& signature);

/// "Results of a byte are stored 16 at a time."
Rule byte_results_rule(const KernelSignature& signature);

/// Blocks with so much shared memory that an SM has room for.
int blocks_by_shared_memory(int bytes, const DeviceLimits& limits);

/// The resident blocks' shared memory fits an SM's.
bool fits_shared_memory(int bytes, int min_blocks, const DeviceLimits& limits);

/// The workspace holds packed operands or split K's partial sums, not both.
bool leaves_workspace_to_packing(const Config& config);

/// How many instructions turn 8 codes of weights into numbers, without scales, counted in shared/multiply/codes.cuh. For
/// codebooks these are cycles of the pipe for logic and prmt, which starts an instruction every other cycle
/// (codebook_pairs.cuh).
double instructions_of_numbers(const KernelTarget& target);

/// Ranks configs by estimates of their time: of each tile the `of_tile` shortest, of all the `most` shortest, in their
/// order.
class Ranking {
 public:
  using Candidate = std::pair<double, Config>;

  explicit Ranking(std::size_t of_tile) : of_tile_(of_tile) {}

  void add_tile(std::vector<Candidate> candidates);
  std::vector<Config> shortest(std::size_t most) &&;

 private:
  std::size_t of_tile_;
  std::vector<Candidate> ranked_;
};

}  // namespace tilesmith::tensor_core
