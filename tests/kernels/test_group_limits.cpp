#include "kernels/base/cgroup_limits.hpp"

#include "kernels/base/on_all_cores.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/made_tree.hpp"

using namespace tilesmith;
using tilesmith::runtime::test::Tree;

namespace {

constexpr const char* kSecondMounted =
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kFirstMounted =
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

}  // namespace

TEST_CASE("where there are no control groups, nothing is limited") {
  const Tree tree("no_groups");
  const GroupLimits limits = group_limits(tree.root());
  CHECK_FALSE(limits.cores);
  CHECK_FALSE(limits.memory_bytes);
  CHECK_FALSE(limits.memory_left_bytes);
  CHECK(usable_cores(tree.root()) >= 1);
}

TEST_CASE("the tightest of the nested groups counts, in version 2") {
  const Tree tree("second");
  tree.put("proc/self/cgroup", "0::/system.slice/job.service/worker\n");
  tree.put("proc/self/mountinfo", std::string("30 1 8:1 / / rw - ext4 /dev/sda1 rw\n") + kSecondMounted);
  const std::string top = "sys/fs/cgroup/system.slice";
  tree.put(top + "/job.service/worker/memory.max", "max\n");
  tree.put(top + "/job.service/worker/cpu.max", "800000 100000\n");
  tree.put(top + "/job.service/memory.max", "1000000000\n");
  tree.put(top + "/job.service/memory.high", "800000000\n");
  tree.put(top + "/job.service/memory.current", "500000000\n");
  tree.put(top + "/job.service/memory.stat", "anon 1\ninactive_file 300000000\nactive_file 7\n");
  tree.put(top + "/memory.max", "2000000000\n");
  tree.put(top + "/memory.current", "1900000000\n");
  tree.put(top + "/cpu.max", "250000 100000\n");
  const GroupLimits limits = group_limits(tree.root());
  CHECK(limits.cores == 2.5);
  CHECK(limits.memory_bytes == 800000000);
  CHECK(limits.memory_file == (tree.root() / (top + "/job.service/memory.high")).string());
  CHECK(limits.memory_left_bytes == 100000000);  // of the slice, which others fill
  CHECK(usable_cores(tree.root()) <= 2);
}

TEST_CASE("version 1 has a hierarchy a controller, and -1 and 2^63 for none") {
  const Tree tree("first");
  tree.put("proc/self/cgroup", "5:cpuset:/\n4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n");
  tree.put("proc/self/mountinfo", kFirstMounted);
  tree.put("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "50000\n");
  tree.put("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  tree.put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  tree.put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  tree.put("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "419430400\n");
  tree.put("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "19430400\n");
  tree.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const GroupLimits limits = group_limits(tree.root());
  CHECK(limits.cores == 0.5);
  CHECK(usable_cores(tree.root()) == 1);
  CHECK(limits.memory_bytes == 419430400);
  CHECK(limits.memory_left_bytes == 400000000);
}

TEST_CASE("a group that is mounted as the top is found, whatever its name outside") {
  for (const char* mounted : {"/docker/abc", "/", "/.."}) {
    INFO(mounted);
    const Tree tree("as_top");
    tree.put(
        "proc/self/cgroup", mounted == std::string("/docker/abc") ? "4:memory:/docker/abc\n" : "4:memory:/../other\n");
    tree.put("proc/self/mountinfo",
        "35 31 0:32 " + std::string(mounted) + " /sys/fs/cgroup/my\\040memory rw - cgroup cgroup rw,memory\n");
    tree.put("sys/fs/cgroup/my memory/memory.limit_in_bytes", "1000\n");
    CHECK(group_limits(tree.root()).memory_bytes == 1000);
    CHECK(group_limits(tree.root()).memory_left_bytes == 1000);
  }
}

TEST_CASE("what a group's files should not say limits nothing") {
  const Tree tree("nonsense");
  tree.put("proc/self/cgroup", "nothing of the kind\n0::/\n");
  tree.put("proc/self/mountinfo", std::string("1 2 3\n - cgroup2\n") + kSecondMounted);
  tree.put("sys/fs/cgroup/memory.max", "plenty\n");
  tree.put("sys/fs/cgroup/memory.high", "-5\n");
  tree.put("sys/fs/cgroup/cpu.max", "0 0\n");
  CHECK_FALSE(group_limits(tree.root()).memory_bytes);
  CHECK_FALSE(group_limits(tree.root()).cores);
  tree.put("sys/fs/cgroup/memory.max", "1000\n");
  tree.put("sys/fs/cgroup/memory.current", "4000\n");
  CHECK(group_limits(tree.root()).memory_left_bytes == 0);
}
