#include "tuner/search/regression_forest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/base/on_all_cores.hpp"

namespace tilesmith::tuner {

constexpr std::size_t kTrees = 50;
constexpr std::size_t kRenewable = 10;     // trees of a forest that is renewed
constexpr double kShare = 0.7;             // of the rows, for each of them
constexpr std::size_t kSmallestSplit = 2;  // rows; leaves of one row: times repeat within a per cent

/// Grows one tree.
struct RegressionForest::Builder {
  std::span<const Feature> features;
  std::size_t columns;
  std::span<const std::int32_t> targets;
  Rng rng;
  std::vector<Node> nodes;
  std::vector<std::uint32_t> rows;  // each node's are contiguous
  // Of the node that is split: what its rows are to be, the sum of that, and their values of a split.
  std::vector<std::int32_t> node_targets = {};
  std::int64_t total = 0;
  std::vector<int> values = {};

  std::vector<Node> tree(double share) {
    rows.resize(targets.size());
    std::iota(rows.begin(), rows.end(), 0u);
    if (share < 1) {
      rng.shuffle(rows);
      rows.resize(std::size_t(std::ceil(share * double(rows.size()))));
    }
    std::vector<std::uint16_t> all(columns);
    std::iota(all.begin(), all.end(), std::uint16_t{0});
    nodes.emplace_back();
    node_targets.resize(rows.size());
    values.resize(rows.size());
    grow(0, 0, rows.size(), std::move(all));
    return std::move(nodes);
  }

  const Feature* row(std::uint32_t index) const { return features.data() + index * columns; }

  /// Draws a cut between the least and the greatest value, and keeps the split if it takes more off the squared error
  /// than the best so far; false if all rows have the same value.
  bool consider(Split split, std::size_t begin, std::size_t end, Split& best, double& best_gain) {
    const std::size_t count = end - begin;
    int least = std::numeric_limits<int>::max(), greatest = std::numeric_limits<int>::min();
    for (std::size_t i = 0; i < count; ++i) {
      const int value = values[i] = split.at(row(rows[begin + i]));
      least = std::min(least, value);
      greatest = std::max(greatest, value);
    }
    if (least >= greatest) return false;
    split.cut = std::int16_t(least + int(rng.below(std::size_t(greatest - least))));
    std::int64_t left = 0, left_count = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const int is_left = values[i] <= split.cut;
      left += is_left * node_targets[i];
      left_count += is_left;
    }
    const std::int64_t right = total - left;
    const double gained = double(left) * double(left) / double(left_count) +
                          double(right) * double(right) / double(std::int64_t(count) - left_count);
    if (gained > best_gain) {
      best = split;
      best_gain = gained;
    }
    return true;
  }

  /// `varying` are the columns that were not constant in the parent.
  void grow(std::uint32_t node, std::size_t begin, std::size_t end, std::vector<std::uint16_t> varying) {
    total = 0;
    for (std::size_t i = begin; i < end; ++i) total += node_targets[i - begin] = targets[rows[i]];
    nodes[node].value = float(double(total) / double(end - begin));
    if (end - begin < kSmallestSplit) return;
    Split best;
    double best_gain = -1;
    rng.shuffle(varying);  // equal gains: any of them
    std::erase_if(varying, [&](std::uint16_t column) {
      return !consider({column, 0, 0, 0}, begin, end, best, best_gain);
    });
    // As many sums and differences of two: the positions of sizes in powers of two are logarithms, so that these tell
    // products and ratios, such as a tile's size over the block's.
    for (std::size_t i = 0; varying.size() > 1 && i < varying.size(); ++i) {
      const std::uint16_t a = varying[rng.below(varying.size())], b = varying[rng.below(varying.size())];
      const std::int8_t sign = rng.below(2) == 0 ? 1 : -1;
      if (a != b) consider({a, b, sign, 0}, begin, end, best, best_gain);
    }
    if (best_gain < 0) return;
    const auto middle = std::partition(rows.begin() + std::ptrdiff_t(begin), rows.begin() + std::ptrdiff_t(end),
        [&](std::uint32_t index) { return best.at(row(index)) <= best.cut; });
    const std::size_t split_at = std::size_t(middle - rows.begin());
    const auto left = std::uint32_t(nodes.size());
    nodes.resize(nodes.size() + 2);
    nodes[node].left = left;
    nodes[node].split = best;
    grow(left, begin, split_at, varying);
    grow(left + 1, split_at, end, std::move(varying));
  }
};

void RegressionForest::fit(std::span<const Feature> features, std::size_t columns,
    std::span<const std::int32_t> targets, Rng& rng, Cores cores) {
  trees_.clear();
  if (targets.empty()) return;
  // Each tree draws from a sequence of its own, so that it is the same on however many cores.
  std::vector<std::uint64_t> seeds(kTrees);
  for (std::uint64_t& seed : seeds) seed = rng.bits();
  trees_.resize(kTrees);
  const auto grow = [&](std::size_t i) {
    trees_[i] = Builder{features, columns, targets, Rng(seeds[i]), {}, {}}.tree(1);
  };
  if (cores == Cores::all) {
    on_all_cores(kTrees, grow);
  } else {
    for (std::size_t i = 0; i < kTrees; ++i) grow(i);
  }
}

void RegressionForest::renew(std::span<const Feature> features, std::size_t columns,
    std::span<const std::int32_t> targets, Rng& rng, std::size_t count) {
  if (targets.empty()) return;
  const std::size_t missing = kRenewable - std::min(kRenewable, trees_.size());
  trees_.resize(trees_.size() + missing);
  for (std::size_t i = 0; i < std::min(kRenewable, std::max(count, missing)); ++i) {
    trees_[oldest_] = Builder{features, columns, targets, Rng(rng.bits()), {}, {}}.tree(kShare);
    oldest_ = (oldest_ + 1) % kRenewable;
  }
}

RegressionForest::Prediction RegressionForest::predict(std::span<const Feature> row) const {
  double sum = 0, squares = 0;
  for (const std::vector<Node>& tree : trees_) {
    std::uint32_t at = 0;
    while (tree[at].left != 0) {
      const auto& [left, split, value] = tree[at];
      at = left + (split.at(row.data()) <= split.cut ? 0 : 1);
    }
    sum += tree[at].value;
    squares += double(tree[at].value) * tree[at].value;
  }
  const double count = double(trees_.size());
  const double mean = sum / count;
  return {mean, std::max(0.0, squares / count - mean * mean)};
}

}  // namespace tilesmith::tuner
