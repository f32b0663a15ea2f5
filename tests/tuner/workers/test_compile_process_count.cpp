#include "tests/catch.hpp"
#include "tests/runtime/made_tree.hpp"
#include "tuner/workers/compile_process_count.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

}  // namespace

TEST_CASE("one compile job a core, as memory allows, and never none") {
  CHECK(compile_process_count_for({16, 120 * kGiB, false}, 1) == 15);
  CHECK(compile_process_count_for({128, 500 * kGiB, false}, 1) == 24);
  CHECK(compile_process_count_for({16, 2 * kGiB, false}, 1) == 4);
  CHECK(compile_process_count_for({16, std::nullopt, false}, 0) == 16);
  CHECK(compile_process_count_for({16, 0, false}, 0) == 1);
  CHECK(compile_process_count_for({1, 120 * kGiB, false}, 1) == 1);
  CHECK(compile_process_count_for({32, 256 * kGiB, false, 2}, 1) == 15);  // two GPUs, a tuner each
  CHECK(compile_process_count_for({32, 4 * kGiB, false, 2}, 1) == 4);
  CHECK(default_compile_process_count(0, false) >= 1);
  CHECK(default_compile_process_count(1000, true) == 1);
}

TEST_CASE("where the device shares the machine, compiling takes half of it") {
  CHECK(compile_process_count_for({12, 50 * kGiB, true}, 1) == 6);  // an AGX Orin at MAXN
  CHECK(compile_process_count_for({8, 50 * kGiB, true}, 1) == 4);   // at 30 W
  CHECK(compile_process_count_for({4, 50 * kGiB, true}, 1) == 2);   // at 15 W
  CHECK(compile_process_count_for({12, 3 * kGiB, true}, 1) == 3);
  CHECK(compile_process_count_for({12, kGiB / 2, true}, 1) == 1);
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

TEST_CASE("under a memory limit there are as many compile jobs as it leaves room for") {
  const runtime::test::Tree tree("compile_process_count");
  tree.put("proc/meminfo", "MemAvailable: 67108864 kB\n");
  tree.put("proc/self/cgroup", "0::/job\n");
  tree.put("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  tree.put("sys/fs/cgroup/job/memory.max", "1610612736\n");  // 1.5 GiB
  tree.put("sys/fs/cgroup/job/memory.current", "104857600\n");
  tree.put("sys/fs/cgroup/job/cpu.max", "max 100000\n");
  CompileMachine machine = compile_machine(false, 1, tree.root());
  CHECK(machine.available_bytes == 1610612736 - 104857600);
  machine.cores = 16;
  CHECK(compile_process_count_for(machine, 1) == 2);
  tree.put("sys/fs/cgroup/job/cpu.max", "50000 100000\n");
  CHECK(compile_machine(false, 1, tree.root()).cores == 1);
  tree.put("proc/meminfo", "MemAvailable: 1024 kB\n");
  CHECK(compile_machine(false, 1, tree.root()).available_bytes == 1024 * 1024);
}

TEST_CASE("of a killed compiler its kernel, the limit and a way out are told in one line") {
  GroupLimits limits;
  CHECK(
      killed_compiler_text("simt{block_m=16}", "killed by signal 9 (Killed)", 1, limits) ==
      "a compiler was killed by signal 9 (Killed), as where memory runs out, at simt{block_m=16}: expected 512 MiB for each compiler");
  limits.memory_bytes = std::uint64_t{400} << 20;
  limits.memory_file = "/sys/fs/cgroup/memory.max";
  CHECK(
      killed_compiler_text("simt{block_m=16}", "killed by signal 9 (Killed)", 4, limits) ==
      "a compiler was killed by signal 9 (Killed), as where memory runs out, at simt{block_m=16}; /sys/fs/cgroup/memory.max allows "
      "400 MiB: expected 512 MiB for each compiler, or --compile-jobs below 4");
}

}  // namespace tilesmith::tuner
