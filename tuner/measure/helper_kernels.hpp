// Compiles and loads the few kernels that measuring itself needs.
#pragma once

#include <string>

#include "runtime/driver/device.hpp"

namespace tilesmith::tuner {

/// Throws std::runtime_error with the compiler's log: these kernels are ours, so a failure is a broken environment.
runtime::Module load_helper(const runtime::Context& context, const std::string& source, const std::string& entry);

}  // namespace tilesmith::tuner
