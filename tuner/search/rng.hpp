// Seeded randomness that gives the same numbers everywhere: the engine is fixed by the C++ standard, but its
// distributions and std::shuffle are not, so these are our own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace tilesmith::tuner {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in [0, bound); bound ≥ 1.
  std::size_t below(std::size_t bound) {
    // Draws from the last, incomplete round of `bound` are thrown away: they would favour small results.
    const std::uint64_t last_round = (engine_.max() - bound + 1) % bound;
    std::uint64_t draw = engine_();
    while (draw > engine_.max() - last_round) draw = engine_();
    return std::size_t(draw % bound);
  }

  /// 64 of them, each as often 0 as 1.
  std::uint64_t bits() { return engine_(); }

  /// Uniform in [0, 1), a multiple of 2^-53.
  double unit() { return double(engine_() >> 11) * 0x1p-53; }

  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace tilesmith::tuner
