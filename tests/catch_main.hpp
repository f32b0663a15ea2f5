// What a test program may do in place of its tests.
#pragma once

#include <optional>

namespace tilesmith::tests {

/// The exit status, if no tests are to run. A program without a definition of its own always runs them.
std::optional<int> instead_of_tests(int argc, char** argv);

}  // namespace tilesmith::tests
