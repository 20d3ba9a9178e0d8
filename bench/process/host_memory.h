// How much host memory a run may take, and whether the kernel killed someone for taking more.
// Containers count: the limits of control groups (v1 and v2) are read, not only the machine's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace headroom {

// Where the kernel keeps these books. Tests give a fake tree.
struct KernelPaths {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

// Bytes that can still be taken: the smallest of the machine's MemAvailable and, for this process's
// control group and every one above it, limit minus usage (file cache that can be dropped does not
// count as used). Nothing when the kernel says nothing.
std::optional<int64_t> available_host_memory(const KernelPaths& paths = {});

// What a run gets unless told otherwise: 90 % of that. 0 (no limit) when it is unknown.
int64_t default_host_memory(const KernelPaths& paths = {});

// How often the out-of-memory killer has struck in this process's control group, or on the machine
// where groups do not count it. Only a difference means something.
std::optional<int64_t> oom_kills(const KernelPaths& paths = {});

}  // namespace headroom
