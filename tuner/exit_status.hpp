// How the program ends: what its commands return, and what a tuner process tells its supervisor.
#pragma once

#include <stdexcept>

namespace tilesmith::tuner {

inline constexpr int kExitOk = 0;
inline constexpr int kExitInternal = 1;
inline constexpr int kExitUsage = 2;     ///< bad input, or something is missing here
inline constexpr int kExitSetAside = 3;  ///< done, but for problems that were set aside

/// One line that names the option, file or line and what was expected. Ends the program with kExitUsage.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tilesmith::tuner
