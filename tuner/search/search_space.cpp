#include "tuner/search/search_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "kernels/base/on_all_cores.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kPiece = 4096;  // configs that one thread goes through at a time

std::optional<std::size_t> position(const std::vector<int>& values, int value) {
  const auto at = std::find(values.begin(), values.end(), value);
  if (at == values.end()) return std::nullopt;
  return std::size_t(at - values.begin());
}

/// The value of the parameter that is expected at this position; looked for elsewhere only if it is not there.
std::optional<int> value_of(const Config& config, std::size_t at, ParameterName parameter) {
  const auto& values = config.values();
  if (at < values.size() && values[at].first == parameter) return values[at].second;
  if (!config.has(parameter.text())) return std::nullopt;
  return config.at(parameter.text());
}

/// Calls work(i) once for each i < count, on all cores.
void for_each_of(std::size_t count, const std::function<void(std::size_t)>& work) {
  on_all_cores((count + kPiece - 1) / kPiece, [&](std::size_t piece) {
    const std::size_t end = std::min(count, (piece + 1) * kPiece);
    for (std::size_t i = piece * kPiece; i < end; ++i) work(i);
  });
}

}  // namespace

SearchSpace::Block SearchSpace::empty_block(const Space& space) {
  Block block;
  block.family = space.family;
  block.parameters = space.parameters;
  for (const Parameter& parameter : space.parameters) block.names.emplace_back(parameter.name);
  block.strides.resize(block.parameters.size());
  std::uint64_t combinations = 1;
  for (std::size_t i = block.parameters.size(); i-- > 0;) {
    block.strides[i] = combinations;
    const std::uint64_t radix = std::max<std::size_t>(1, block.parameters[i].values.size());
    if (combinations > std::numeric_limits<std::uint64_t>::max() / radix) {
      throw std::invalid_argument(fmt::format("space of {}: more than 2^64 combinations", block.family));
    }
    combinations *= radix;
  }
  return block;
}

void SearchSpace::add(const Space& space) {
  Block block = empty_block(space);
  std::vector<std::uint64_t> codes(space.configs.size());
  for_each_of(codes.size(), [&](std::size_t i) {
    const auto code = code_of(block, space.configs[i]);
    if (!code)
      throw std::invalid_argument(fmt::format("{} is not in the space of {}", space.configs[i].text(), block.family));
    codes[i] = *code;
  });
  block.begin = codes_.size();
  block.end = block.begin + codes.size();
  block.by_code.resize(codes.size());
  std::iota(block.by_code.begin(), block.by_code.end(), 0u);
  if (!std::is_sorted(codes.begin(), codes.end()))
    std::sort(block.by_code.begin(), block.by_code.end(), [&](auto a, auto b) { return codes[a] < codes[b]; });
  codes_.insert(codes_.end(), codes.begin(), codes.end());
  blocks_.push_back(std::move(block));
}

SearchSpace SearchSpace::where(const std::function<bool(const Config&)>& keep) const {
  SearchSpace result;
  for (const Block& block : blocks_) {
    const std::size_t size = block.end - block.begin;
    std::vector<char> is_kept(size);
    for_each_of(size, [&](std::size_t i) { is_kept[i] = keep(decoded(block, codes_[block.begin + i])); });
    Block kept{block.family, block.parameters, block.names, block.strides, result.codes_.size(), 0, {}};
    std::vector<std::uint32_t> place(size);  // of each kept one among them
    for (std::size_t i = 0; i < size; ++i) {
      if (!is_kept[i]) continue;
      place[i] = std::uint32_t(result.codes_.size() - kept.begin);
      result.codes_.push_back(codes_[block.begin + i]);
    }
    kept.end = result.codes_.size();
    kept.by_code.reserve(kept.end - kept.begin);
    for (const std::uint32_t i : block.by_code) {
      if (is_kept[i]) kept.by_code.push_back(place[i]);
    }
    result.blocks_.push_back(std::move(kept));
  }
  return result;
}

Config SearchSpace::decoded(const Block& block, std::uint64_t code) {
  std::vector<Config::Value> values;
  values.reserve(block.names.size());
  for (std::size_t i = 0; i < block.names.size(); ++i)
    values.emplace_back(block.names[i], block.parameters[i].values[digit(block, code, i)]);
  return {block.family, std::move(values)};
}

Config SearchSpace::config(std::size_t index) const { return decoded(block_of(index), codes_[index]); }

std::optional<std::uint64_t> SearchSpace::code_of(const Block& block, const Config& config) {
  if (config.family() != block.family || config.values().size() != block.parameters.size()) return std::nullopt;
  std::uint64_t code = 0;
  for (std::size_t i = 0; i < block.parameters.size(); ++i) {
    const auto value = value_of(config, i, block.names[i]);
    if (!value) return std::nullopt;
    const auto at = position(block.parameters[i].values, *value);
    if (!at) return std::nullopt;
    code += *at * block.strides[i];
  }
  return code;
}

std::optional<std::size_t> SearchSpace::find(const Block& block, std::uint64_t code) const {
  const std::uint64_t* const codes = codes_.data() + block.begin;
  const auto at = std::lower_bound(block.by_code.begin(), block.by_code.end(), code,
      [&](std::uint32_t i, std::uint64_t wanted) { return codes[i] < wanted; });
  if (at == block.by_code.end() || codes[*at] != code) return std::nullopt;
  return block.begin + *at;
}

std::size_t SearchSpace::digit(const Block& block, std::uint64_t code, std::size_t parameter) {
  return std::size_t(code / block.strides[parameter] % block.parameters[parameter].values.size());
}

const SearchSpace::Block& SearchSpace::block_of(std::size_t index) const {
  for (const Block& block : blocks_) {
    if (index < block.end) return block;
  }
  throw std::out_of_range(fmt::format("config {} of a space of {}", index, size()));
}

std::optional<std::size_t> SearchSpace::index_of(const Config& config) const {
  for (const Block& block : blocks_) {
    if (const auto code = code_of(block, config)) {
      if (const auto index = find(block, *code)) return index;
    }
  }
  return std::nullopt;
}

SearchSpace::Neighbourhood SearchSpace::neighbourhood(std::size_t index) const {
  const Block& block = block_of(index);
  const std::uint64_t code = codes_[index];
  Neighbourhood result;
  for (std::size_t parameter = 0; parameter < block.parameters.size(); ++parameter) {
    const std::uint64_t stride = block.strides[parameter];
    const std::size_t here = digit(block, code, parameter);
    const std::uint64_t base = code - here * stride;
    for (std::size_t there = 0; there < block.parameters[parameter].values.size(); ++there) {
      if (there == here) continue;
      const auto neighbour = find(block, base + there * stride);
      if (!neighbour) continue;
      const bool one_step = there + 1 == here || here + 1 == there;
      (one_step ? result.adjacent : result.farther).push_back(*neighbour);
    }
  }
  return result;
}

std::vector<std::size_t> SearchSpace::neighbours(std::size_t index) const {
  Neighbourhood around = neighbourhood(index);
  std::vector<std::size_t> result = std::move(around.adjacent);
  result.insert(result.end(), around.farther.begin(), around.farther.end());
  return result;
}

std::size_t SearchSpace::family(std::size_t index) const { return std::size_t(&block_of(index) - blocks_.data()); }

std::vector<std::size_t> SearchSpace::digits(std::size_t index) const {
  const Block& block = block_of(index);
  std::vector<std::size_t> result(block.parameters.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = digit(block, codes_[index], i);
  return result;
}

double SearchSpace::distance(std::size_t a, std::size_t b) const {
  const Block& block = block_of(a);
  if (b < block.begin || b >= block.end) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (std::size_t i = 0; i < block.parameters.size(); ++i) {
    const std::size_t here = digit(block, codes_[a], i), there = digit(block, codes_[b], i);
    const std::size_t steps = here > there ? here - there : there - here;
    if (steps > 0) sum += double(steps) / double(block.parameters[i].values.size() - 1);
  }
  return sum;
}

std::vector<std::size_t> SearchSpace::radices(std::size_t index) const {
  std::vector<std::size_t> result;
  for (const Parameter& parameter : block_of(index).parameters) result.push_back(parameter.values.size());
  return result;
}

std::optional<std::size_t> SearchSpace::changed(std::size_t index, std::span<const Change> changes) const {
  const Block& block = block_of(index);
  std::uint64_t code = codes_[index];
  for (const auto& [parameter, value] : changes) {
    if (parameter >= block.parameters.size() || value >= block.parameters[parameter].values.size()) return std::nullopt;
    code = code - digit(block, code, parameter) * block.strides[parameter] + value * block.strides[parameter];
  }
  return find(block, code);
}

}  // namespace tilesmith::tuner
