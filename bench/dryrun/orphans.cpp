#include "bench/dryrun/orphans.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "bench/process/process_stat.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> children;
  std::error_code ended;  // the process ended meanwhile
  for (fs::directory_iterator entry("/proc", ended), end; !ended && entry != end;
       entry.increment(ended)) {
    const std::string name = entry->path().filename().string();
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    if (const auto parent = parent_of_running(pid)) children.emplace(*parent, pid);
  }
  return children;
}

// Our running children, and their descendants.
std::vector<pid_t> descendants() {
  const std::multimap<pid_t, pid_t> children = children_by_parent();
  std::vector<pid_t> found = {getpid()};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

}  // namespace

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

void tell_descendants_to_end() {
  for (const pid_t pid : descendants()) kill(pid, SIGTERM);
}

void kill_descendants() {
  // A process that starts others during a pass is killed in it, and they in the next one.
  constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 5'000'000};
  for (std::vector<pid_t> left = descendants(); !left.empty(); left = descendants()) {
    for (const pid_t pid : left) kill(pid, SIGKILL);
    nanosleep(&kMoment, nullptr);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

}  // namespace headroom
