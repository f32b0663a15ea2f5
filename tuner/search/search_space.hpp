// What is searched: legal configs by index, and which are one step apart.
//
// A config is kept as its code, the mixed-radix number of the positions of its values in their parameters' lists: a
// dozen bytes where the config itself takes some 350, of which a space has up to a million. A neighbour is found by
// adding a multiple of one radix and looking the sum up: O(log size), whatever the space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/families/space.hpp"

namespace tilesmith::tuner {

/// Spaces of several families are concatenated; neighbours stay within a family. Thread-safe once all are added.
class SearchSpace {
 public:
  SearchSpace() = default;
  explicit SearchSpace(const std::vector<Space>& spaces) {
    for (const Space& space : spaces) add(space);
  }
  /// A family's configs, behind those of the families before. Throws std::invalid_argument if one lacks a parameter of
  /// its space or has a value that is not listed.
  void add(const Space& space);
  std::size_t size() const { return codes_.size(); }
  /// Made anew, its parameters in the order of the family's declaration.
  Config config(std::size_t index) const;
  std::optional<std::size_t> index_of(const Config& config) const;
  /// Those of its configs, of the same families and in the same order, for which `keep` is true. It is asked once for
  /// each, on all cores at once; what it throws is thrown here.
  SearchSpace where(const std::function<bool(const Config&)>& keep) const;

  /// Legal configs that differ in one parameter by one step of its value list first, then those that differ in one
  /// parameter by any step.
  std::vector<std::size_t> neighbours(std::size_t index) const;

  struct Neighbourhood {
    std::vector<std::size_t> adjacent;  ///< one parameter, one step of its value list
    std::vector<std::size_t> farther;   ///< one parameter, more than one step
  };
  Neighbourhood neighbourhood(std::size_t index) const;

  std::size_t family_count() const { return blocks_.size(); }
  /// Which of the families, in the order they were given.
  std::size_t family(std::size_t index) const;
  /// The indices of a family's configs: from first up to, but not, second.
  std::pair<std::size_t, std::size_t> family_range(std::size_t family) const {
    return {blocks_[family].begin, blocks_[family].end};
  }
  /// The positions of the config's values in its parameters' lists.
  std::vector<std::size_t> digits(std::size_t index) const;
  /// How far two configs of one family are apart: the sum over parameters of the steps between their values, each as a
  /// fraction of its list. Infinite for configs of two families.
  double distance(std::size_t a, std::size_t b) const;
  /// The parameters of a family, with their lists of values.
  const std::vector<Parameter>& parameters(std::size_t family) const { return blocks_[family].parameters; }
  /// How many values each parameter of the config's family has.
  std::vector<std::size_t> radices(std::size_t index) const;
  /// The config with these parameters (by position) set to these values (by position); nullopt if it is not legal.
  using Change = std::pair<std::size_t, std::size_t>;
  std::optional<std::size_t> changed(std::size_t index, std::span<const Change> changes) const;

 private:
  struct Block {
    std::string family;
    std::vector<Parameter> parameters;
    std::vector<ParameterName> names;    // theirs
    std::vector<std::uint64_t> strides;  // of each parameter in the code
    std::size_t begin = 0, end = 0;      // indices of its configs
    std::vector<std::uint32_t> by_code;  // those indices, less `begin`, codes ascending
  };
  static Block empty_block(const Space& space);
  static std::optional<std::uint64_t> code_of(const Block& block, const Config& config);
  static Config decoded(const Block& block, std::uint64_t code);
  static std::size_t digit(const Block& block, std::uint64_t code, std::size_t parameter);
  std::optional<std::size_t> find(const Block& block, std::uint64_t code) const;
  const Block& block_of(std::size_t index) const;

  std::vector<std::uint64_t> codes_;
  std::vector<Block> blocks_;
};

}  // namespace tilesmith::tuner
