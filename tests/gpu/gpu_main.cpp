// The main of the GPU tests. Without a GPU it says so in one line and exits with 77, which CTest shows as skipped; the
// tests can be listed all the same. As `test_gpu worker ...` it is its own worker process.
#include <cstdio>
#include <string>
#include <string_view>

#include "runtime/driver/device.hpp"
#include "tests/gpu/drill_family.hpp"
#include "tuner/workers/worker.hpp"

#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

namespace {

constexpr int kSkipped = 77;

/// Whether the arguments only ask what there is (Catch2 2: -l, -t; both: --list-..., --help).
bool only_asks(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.substr(0, 6) == "--list" || argument == "-l" || argument == "-t") return true;
    if (argument == "--help" || argument == "-h" || argument == "-?") return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "worker") {
    const tilesmith::test::DrillEnabled drill;
    return tilesmith::tuner::worker_main(argc, argv);
  }
  if (!only_asks(argc, argv)) {
    if (const std::string reason = tilesmith::runtime::device_unavailable_because(); !reason.empty()) {
      std::printf("skipped, there is no GPU: %s\n", reason.c_str());
      return kSkipped;
    }
  }
  return Catch::Session().run(argc, argv);
}
