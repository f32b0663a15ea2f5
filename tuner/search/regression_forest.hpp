// Extremely randomised regression trees (Geurts, Ernst, Wehenkel 2006) over small ordinal features: what `forest`
// predicts times with. Each tree sees all rows; a node draws cuts at random and keeps the one
// that leaves the least squared error, so that trees differ where the data say little: their spread is the doubt.
//
// Targets are whole numbers, so that their sums are exact and trees come out the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tuner/search/rng.hpp"

namespace tilesmith::tuner {

class RegressionForest {
 public:
  using Feature = std::int16_t;

  struct Prediction {
    double mean = 0;
    double variance = 0;  ///< between the trees
  };

  /// What a fit runs on. What comes out is the same.
  enum class Cores { one, all };

  /// `features` holds targets.size() rows of `columns` each. |target| < 2^20.
  void fit(std::span<const Feature> features, std::size_t columns, std::span<const std::int32_t> targets, Rng& rng,
      Cores cores = Cores::one);
  /// A small forest that is kept up to date at less cost: grows so many trees, each from a random part of the rows, in
  /// place of the oldest of ten; all ten at the first call. Not to be mixed with fit().
  void renew(std::span<const Feature> features, std::size_t columns, std::span<const std::int32_t> targets, Rng& rng,
      std::size_t count);
  Prediction predict(std::span<const Feature> row) const;

 private:
  /// Rows whose value is at most the cut go left.
  struct Split {
    std::uint16_t a = 0, b = 0;
    std::int8_t sign_b = 0;  // 0: feature a alone; else a + sign_b * b
    std::int16_t cut = 0;

    int at(const Feature* row) const { return sign_b == 0 ? row[a] : row[a] + sign_b * row[b]; }
  };
  /// A leaf has no children, and holds a value.
  struct Node {
    std::uint32_t left = 0;  // in its tree; the right one follows it; 0 for a leaf
    Split split;
    float value = 0;
  };
  struct Builder;

  std::vector<std::vector<Node>> trees_;  // the root first
  std::size_t oldest_ = 0;                // of them, where they are renewed
};

}  // namespace tilesmith::tuner
