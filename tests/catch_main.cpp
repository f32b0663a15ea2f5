// The main of all test programs. Catch2's own code is compiled here alone: it takes longer than most files of tests.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include <cstdlib>

#include "tests/catch_main.hpp"

namespace tilesmith::tests {

[[gnu::weak]] std::optional<int> instead_of_tests(int, char**) { return std::nullopt; }

}  // namespace tilesmith::tests

int main(int argc, char** argv) {
  ::setenv("TILESMITH_CACHE", "off", 0);  // tests neither find nor leave kernels of the user's own
  if (const std::optional<int> status = tilesmith::tests::instead_of_tests(argc, argv)) return *status;
  return Catch::Session().run(argc, argv);
}
