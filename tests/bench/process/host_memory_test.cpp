#include "bench/process/host_memory.h"

#include <gtest/gtest.h>

#include "tests/files/scratch_directory.h"

namespace headroom {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

class HostMemory : public testing::Test {
 protected:
  HostMemory() {
    write_text(paths_.proc + "/meminfo",
               "MemTotal:       67108864 kB\nMemFree:        1 kB\nMemAvailable:   33554432 kB\n");
  }
  void limit(const std::string& group, const std::string& limit, int64_t used, int64_t cache = 0) {
    const std::string folder = paths_.cgroup + group;
    write_text(folder + "/memory.max", limit + "\n");
    write_text(folder + "/memory.current", std::to_string(used) + "\n");
    write_text(folder + "/memory.stat",
               "anon 1\ninactive_file " + std::to_string(cache) + "\nactive_file 7\n");
  }
  void limit_v1(const std::string& group, int64_t limit, int64_t used, int64_t cache = 0) {
    const std::string folder = paths_.cgroup + "/memory" + group;
    write_text(folder + "/memory.limit_in_bytes", std::to_string(limit) + "\n");
    write_text(folder + "/memory.usage_in_bytes", std::to_string(used) + "\n");
    write_text(folder + "/memory.stat",
               "cache 1\ninactive_file 5\ntotal_inactive_file " + std::to_string(cache) + "\n");
  }
  void belong_to(const std::string& lines) { write_text(paths_.proc + "/self/cgroup", lines); }

  ScratchDirectory folder_;
  KernelPaths paths_ = {folder_.file("proc"), folder_.file("cgroup")};
};

TEST_F(HostMemory, WithoutGroupsItIsWhatTheMachineHas) {
  EXPECT_EQ(available_host_memory(paths_), 32 * kGiB);
  EXPECT_EQ(default_host_memory(paths_), 32 * kGiB / 10 * 9);
}

TEST_F(HostMemory, TheTightestGroupAboveCounts) {
  belong_to("0::/a/b/c\n");
  limit("/a/b/c", "max", 3 * kGiB);
  limit("/a/b", "8589934592", 5 * kGiB, kGiB);  // 8 GiB - (5 - 1)
  limit("/a", "17179869184", 6 * kGiB);         // 10 left
  EXPECT_EQ(available_host_memory(paths_), 4 * kGiB);
}

TEST_F(HostMemory, VersionOneHasTheSameBooksUnderOtherNames) {
  belong_to("5:cpu,cpuacct:/x\n4:memory:/docker/id\n1:name=systemd:/y\n0::/\n");
  limit_v1("/docker/id", 9223372036854771712, 20 * kGiB);
  limit_v1("/docker", 12 * kGiB, 10 * kGiB, kGiB);
  limit_v1("", 9223372036854771712, 20 * kGiB);
  EXPECT_EQ(available_host_memory(paths_), 3 * kGiB);
}

TEST_F(HostMemory, InAContainerTheMountPointIsTheGroup) {
  belong_to("4:memory:/kubepods/pod1/container\n");
  limit_v1("", 2 * kGiB, kGiB);
  EXPECT_EQ(available_host_memory(paths_), kGiB);
  belong_to("0::/../../elsewhere\n");
  limit("", "3221225472", kGiB);
  EXPECT_EQ(available_host_memory(paths_), 2 * kGiB);
}

TEST_F(HostMemory, AFullGroupLeavesALimitAndNotNone) {
  belong_to("0::/a\n");
  limit("/a", "1048576", 2 << 20);
  EXPECT_EQ(available_host_memory(paths_), 0);
  EXPECT_EQ(default_host_memory(paths_), 1);
}

TEST_F(HostMemory, ASilentKernelGivesNoLimit) {
  const KernelPaths nothing = {folder_.file("none"), folder_.file("none")};
  EXPECT_EQ(available_host_memory(nothing), std::nullopt);
  EXPECT_EQ(default_host_memory(nothing), 0);
  EXPECT_EQ(oom_kills(nothing), std::nullopt);
}

TEST_F(HostMemory, KillsAreCountedInTheGroupElseOnTheMachine) {
  write_text(paths_.proc + "/vmstat", "pgfault 12\noom_kill 9\n");
  belong_to("0::/a\n");
  EXPECT_EQ(oom_kills(paths_), 9);
  write_text(paths_.cgroup + "/a/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 1\n");
  EXPECT_EQ(oom_kills(paths_), 2);
  belong_to("4:memory:/b\n");
  write_text(paths_.cgroup + "/memory/b/memory.oom_control", "under_oom 0\noom_kill 1\n");
  EXPECT_EQ(oom_kills(paths_), 1);
}

TEST_F(HostMemory, ThisMachineAnswers) {
  EXPECT_GT(available_host_memory().value_or(0), 0);
  EXPECT_TRUE(oom_kills().has_value());
}

}  // namespace
}  // namespace headroom
