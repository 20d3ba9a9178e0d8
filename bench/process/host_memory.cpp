#include "bench/process/host_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <vector>

#include "text/words.h"

namespace headroom {
namespace {

// Version 1 writes "no limit" as the largest page-aligned number.
constexpr int64_t kUnlimited = int64_t{1} << 60;

// The names of the same files in the two versions of control groups.
struct CgroupVersion {
  const char* limit;
  const char* usage;
  const char* reclaimable;  // key in memory.stat
  const char* events;       // the file with a line "oom_kill N"
};
constexpr CgroupVersion kV1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file", "memory.oom_control"};
constexpr CgroupVersion kV2 = {"memory.max", "memory.current", "inactive_file", "memory.events"};

// A folder of the hierarchy with its file names.
struct Cgroup {
  std::string folder;
  CgroupVersion version;
};

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc()) return std::nullopt;  // such as "max"
  return value;
}

std::optional<int64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  if (!(file >> word)) return std::nullopt;
  return number(word);
}

// The number after `key` in a file of "key number" lines.
std::optional<int64_t> read_keyed(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    std::string value;
    if (words >> name >> value && name == key) return number(value);
  }
  return std::nullopt;
}

// The folders of a group's path; ".." never leads above the first.
std::vector<std::string> folders_of(const std::string& group) {
  std::vector<std::string> folders;
  std::istringstream stream(group);
  for (std::string folder; std::getline(stream, folder, '/');) {
    if (folder == ".." && !folders.empty()) folders.pop_back();
    if (!folder.empty() && folder != "." && folder != "..") folders.push_back(folder);
  }
  return folders;
}

// Adds the group itself, then its ancestors. Inside a container the path may name folders that are
// not mounted; then the mount point, which comes last, is the container's own group.
void add_with_parents(const std::string& mount, const std::string& group, CgroupVersion version,
                      std::vector<Cgroup>& found) {
  for (std::vector<std::string> folders = folders_of(group);; folders.pop_back()) {
    found.push_back({mount + "/" + join(folders, "/"), version});
    if (folders.empty()) return;
  }
}

// Lines of /proc/self/cgroup are "number:controllers:path"; "0::path" is version 2.
std::vector<Cgroup> memory_cgroups(const KernelPaths& paths) {
  std::vector<Cgroup> found;
  std::ifstream file(paths.proc + "/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      add_with_parents(paths.cgroup, group, kV2, found);
    } else if (controllers.find(",memory,") != std::string::npos) {
      add_with_parents(paths.cgroup + "/memory", group, kV1, found);
    }
  }
  return found;
}

std::optional<int64_t> limit_of(const Cgroup& cgroup) {
  const auto limit = read_number(cgroup.folder + "/" + cgroup.version.limit);
  return !limit || *limit >= kUnlimited ? std::nullopt : limit;
}

}  // namespace

std::optional<int64_t> group_memory_limit(const KernelPaths& paths) {
  std::optional<int64_t> lowest;
  for (const Cgroup& cgroup : memory_cgroups(paths)) {
    if (const auto limit = limit_of(cgroup)) lowest = std::min(lowest.value_or(*limit), *limit);
  }
  return lowest;
}

std::optional<int64_t> available_host_memory(const KernelPaths& paths) {
  std::optional<int64_t> available = read_keyed(paths.proc + "/meminfo", "MemAvailable:");
  if (available) *available *= 1024;  // the file's kB are KiB
  for (const Cgroup& cgroup : memory_cgroups(paths)) {
    const auto limit = limit_of(cgroup);
    if (!limit) continue;
    const int64_t usage = read_number(cgroup.folder + "/" + cgroup.version.usage).value_or(0);
    const int64_t cache =
        read_keyed(cgroup.folder + "/memory.stat", cgroup.version.reclaimable).value_or(0);
    const int64_t left = std::max<int64_t>(0, *limit - std::max<int64_t>(0, usage - cache));
    available = std::min(available.value_or(left), left);
  }
  return available;
}

int64_t default_host_memory(const KernelPaths& paths) {
  const auto available = available_host_memory(paths);
  if (!available) return 0;
  return std::max<int64_t>(1, *available / 10 * 9);  // 0 would mean no limit
}

std::optional<int64_t> oom_kills(const KernelPaths& paths) {
  for (const Cgroup& cgroup : memory_cgroups(paths)) {
    const auto kills = read_keyed(cgroup.folder + "/" + cgroup.version.events, "oom_kill");
    if (kills) return kills;
  }
  return read_keyed(paths.proc + "/vmstat", "oom_kill");
}

}  // namespace headroom
