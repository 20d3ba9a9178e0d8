// The host memory available to a run, and the kernel's out-of-memory kills. Respects containers:
// reads the limits of control groups (v1 and v2), not only the machine's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace headroom {

// The kernel's folders with these figures. Tests use a fake tree.
struct KernelPaths {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

// Available bytes: the minimum of the machine's MemAvailable and, for this process's control group
// and each of its ancestors, limit minus usage (without reclaimable file cache). Nothing if the
// kernel reports nothing.
std::optional<int64_t> available_host_memory(const KernelPaths& paths = {});

// The lowest limit of this process's control group and its ancestors. Nothing if none is limited.
std::optional<int64_t> group_memory_limit(const KernelPaths& paths = {});

// A run's default limit: 90 % of that. 0 (no limit) if it is unknown.
int64_t default_host_memory(const KernelPaths& paths = {});

// The out-of-memory killer's count in this process's control group, or on the machine if groups do
// not count it. Only differences are meaningful.
std::optional<int64_t> oom_kills(const KernelPaths& paths = {});

}  // namespace headroom
