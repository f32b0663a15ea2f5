#include "tuner/search/regression_forest.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kTrees = 50;
constexpr std::size_t kSmallestSplit = 2;  // rows; leaves of one row: times repeat within a per cent

}  // namespace

struct RegressionForest::Split {
  std::uint16_t a = 0, b = 0;
  std::int8_t sign_b = 0;
  std::int16_t cut = 0;

  int at(const Feature* row) const { return sign_b == 0 ? row[a] : row[a] + sign_b * row[b]; }
};

/// Grows one tree into nodes_.
struct RegressionForest::Builder {
  std::vector<Node>& nodes;
  std::span<const Feature> features;
  std::size_t columns;
  std::span<const std::int32_t> targets;
  Rng& rng;
  std::vector<std::uint32_t> rows;  // each node's are contiguous

  const Feature* row(std::uint32_t index) const { return features.data() + index * columns; }

  double mean(std::size_t begin, std::size_t end) const {
    std::int64_t sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += targets[rows[i]];
    return double(sum) / double(end - begin);
  }

  /// Draws a cut between the least and the greatest value; false if all rows have the same.
  bool draw_cut(Split& split, std::size_t begin, std::size_t end) {
    int least = std::numeric_limits<int>::max(), greatest = std::numeric_limits<int>::min();
    for (std::size_t i = begin; i < end; ++i) {
      const int value = split.at(row(rows[i]));
      least = std::min(least, value);
      greatest = std::max(greatest, value);
    }
    if (least >= greatest) return false;
    split.cut = std::int16_t(least + int(rng.below(std::size_t(greatest - least))));
    return true;
  }

  /// What the split takes off the squared error, up to a constant of the node.
  double gain(const Split& split, std::size_t begin, std::size_t end) const {
    std::int64_t left = 0, right = 0;
    std::size_t left_count = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::int32_t target = targets[rows[i]];
      if (split.at(row(rows[i])) <= split.cut) {
        left += target;
        ++left_count;
      } else {
        right += target;
      }
    }
    return double(left) * double(left) / double(left_count) +
           double(right) * double(right) / double(end - begin - left_count);
  }

  /// Keeps the split if it gains more than the best so far; false if all rows have the same value.
  bool consider(Split split, std::size_t begin, std::size_t end, Split& best, double& best_gain) {
    if (!draw_cut(split, begin, end)) return false;
    const double gained = gain(split, begin, end);
    if (gained > best_gain) {
      best = split;
      best_gain = gained;
    }
    return true;
  }

  /// `varying` are the columns that were not constant in the parent.
  void grow(std::uint32_t node, std::size_t begin, std::size_t end, std::vector<std::uint16_t> varying) {
    nodes[node].value = float(mean(begin, end));
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
    nodes[node].a = best.a;
    nodes[node].b = best.b;
    nodes[node].sign_b = best.sign_b;
    nodes[node].cut = best.cut;
    grow(left, begin, split_at, varying);
    grow(left + 1, split_at, end, std::move(varying));
  }
};

void RegressionForest::fit(std::span<const Feature> features, std::size_t columns,
                           std::span<const std::int32_t> targets, Rng& rng) {
  nodes_.clear();
  roots_.clear();
  if (targets.empty()) return;
  Builder builder{nodes_, features, columns, targets, rng, {}};
  std::vector<std::uint16_t> all(columns);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  for (std::size_t tree = 0; tree < kTrees; ++tree) {
    builder.rows.resize(targets.size());
    std::iota(builder.rows.begin(), builder.rows.end(), 0u);
    roots_.push_back(std::uint32_t(nodes_.size()));
    nodes_.emplace_back();
    builder.grow(roots_.back(), 0, targets.size(), all);
  }
}

RegressionForest::Prediction RegressionForest::predict(std::span<const Feature> row) const {
  double sum = 0, squares = 0;
  for (std::uint32_t at : roots_) {
    while (nodes_[at].left != 0) {
      const Node& node = nodes_[at];
      const int value = node.sign_b == 0 ? row[node.a] : row[node.a] + node.sign_b * row[node.b];
      at = node.left + (value <= node.cut ? 0 : 1);
    }
    sum += nodes_[at].value;
    squares += double(nodes_[at].value) * nodes_[at].value;
  }
  const double count = double(roots_.size());
  const double mean = sum / count;
  return {mean, std::max(0.0, squares / count - mean * mean)};
}

}  // namespace tilesmith::tuner
