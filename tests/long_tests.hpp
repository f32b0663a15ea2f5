// Tests that prove more the longer they run have a short form, which is the usual one, and a long one.
#pragma once

#include <cstdlib>
#include <string_view>

namespace tilesmith::tests {

/// Whether the long form is asked for: TILESMITH_LONG_TESTS=1.
inline bool long_tests() {
  const char* const asked = std::getenv("TILESMITH_LONG_TESTS");
  return asked != nullptr && std::string_view(asked) == "1";
}

}  // namespace tilesmith::tests
