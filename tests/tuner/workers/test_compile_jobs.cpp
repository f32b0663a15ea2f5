#include "tests/catch.hpp"
#include "tuner/workers/compile_jobs.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

}  // namespace

TEST_CASE("one compile job a core, as memory allows, and never none") {
  CHECK(compile_jobs_for({16, 120 * kGiB, false}, 1) == 15);
  CHECK(compile_jobs_for({128, 500 * kGiB, false}, 1) == 24);
  CHECK(compile_jobs_for({16, 2 * kGiB, false}, 1) == 4);
  CHECK(compile_jobs_for({16, std::nullopt, false}, 0) == 16);
  CHECK(compile_jobs_for({16, 0, false}, 0) == 1);
  CHECK(compile_jobs_for({1, 120 * kGiB, false}, 1) == 1);
  CHECK(compile_jobs_for({32, 256 * kGiB, false, 2}, 1) == 15);  // two GPUs, a tuner each
  CHECK(compile_jobs_for({32, 4 * kGiB, false, 2}, 1) == 4);
  CHECK(default_compile_jobs(0, false) >= 1);
  CHECK(default_compile_jobs(1000, true) == 1);
}

TEST_CASE("where the device shares the machine, compiling takes half of it") {
  CHECK(compile_jobs_for({12, 50 * kGiB, true}, 1) == 6);  // an AGX Orin at MAXN
  CHECK(compile_jobs_for({8, 50 * kGiB, true}, 1) == 4);   // at 30 W
  CHECK(compile_jobs_for({4, 50 * kGiB, true}, 1) == 2);   // at 15 W
  CHECK(compile_jobs_for({12, 3 * kGiB, true}, 1) == 3);
  CHECK(compile_jobs_for({12, kGiB / 2, true}, 1) == 1);
}

TEST_CASE("available memory is read from meminfo, or not at all") {
  CHECK(memory_available_in("MemTotal:  64 kB\nMemAvailable:   2048 kB\nBuffers: 1 kB\n") == 2048 * 1024);
  CHECK(memory_available_in("MemTotal:  64 kB\n") == std::nullopt);
  CHECK(memory_available_in("MemAvailable: many kB\n") == std::nullopt);
  CHECK(memory_available_in("MemAvailable: -4 kB\n") == std::nullopt);
  CHECK(memory_available_in("MemAvailable: 4") == std::nullopt);
  CHECK(memory_available_in("MemAvailable:") == std::nullopt);
  CHECK(memory_available_in("") == std::nullopt);
}

}  // namespace tilesmith::tuner
