// What the GPU tests do first. Without a GPU they say so in one line and exit with 77, which CTest shows as skipped;
// the tests can be listed all the same. As `test_gpu worker ...` it is its own worker process.
#include <cstdio>
#include <string>
#include <string_view>

#include "runtime/driver/device.hpp"
#include "tests/catch_main.hpp"
#include "tests/gpu/drill_family.hpp"
#include "tuner/workers/worker.hpp"

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

std::optional<int> tilesmith::tests::instead_of_tests(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "worker") {
    const test::DrillEnabled drill;
    return tuner::worker_main(argc, argv);
  }
  if (only_asks(argc, argv)) return std::nullopt;
  const std::string reason = runtime::device_unavailable_because();
  if (reason.empty()) return std::nullopt;
  std::printf("skipped, there is no GPU: %s\n", reason.c_str());
  return kSkipped;
}
