// Small spaces to search.
#pragma once

#include "tests/tuner/tune_toy.hpp"

namespace tilesmith::tuner::toy {

inline Space toy_space() {
  DeviceLimits limits;
  limits.arch = kArch;
  return enumerate_space(ToyFamily{}, {{*find_type_pair("f16f32"), {}}, limits});
}

/// A second family, so that spaces are concatenated.
inline Space line_space() {
  Space space;
  space.family = "line";
  space.parameters = {{"x", {10, 20, 40}, ""}};
  for (const int x : {10, 20, 40}) space.configs.push_back(Config("line", {{"x", x}}));
  return space;
}

inline int differing(const Config& a, const Config& b) {
  int count = 0;
  for (const auto& [name, value] : a.values()) count += b.at(name.text()) != value;
  return count;
}

}  // namespace tilesmith::tuner::toy
