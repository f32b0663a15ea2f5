// Who can be launched at all, before all are timed together: an error then is one competitor's, and not the final
// benchmark's.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/driver/device.hpp"

namespace tilesmith::tuner {

/// Calls `launch(i)` for each of `count`; returns those that it did not throw a runtime::DeviceError for, and has
/// `told(i, error)` of the others. A lost context is everybody's, and thrown on.
template <typename Launch, typename Told>
std::vector<std::size_t> those_that_launch(std::size_t count, Launch&& launch, Told&& told) {
  std::vector<std::size_t> able;
  for (std::size_t i = 0; i < count; ++i) {
    try {
      launch(i);
      able.push_back(i);
    } catch (const runtime::DeviceError& error) {
      if (error.context_lost()) throw;
      told(i, error);
    }
  }
  return able;
}

}  // namespace tilesmith::tuner
