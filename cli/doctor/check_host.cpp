#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <optional>

#include "bench/process/cores.h"
#include "bench/process/program_folder.h"
#include "cli/doctor/checks.h"
#include "files/directory.h"
#include "text/quantity.h"
#include "train/kernels/region_settings.h"

namespace headroom {
namespace {

using State = Finding::State;

constexpr const char* kHostArea = "host";
constexpr int64_t kGib = int64_t{1} << 30;

Finding memory_finding_of_host(const KernelPaths& paths) {
  Finding finding{.area = kHostArea, .name = "memory"};
  const auto available = available_host_memory(paths);
  finding.found =
      available ? format_bytes(*available) + " available to a run" : "the kernel does not say";
  if (available) finding.figures["available_bytes"] = *available;
  if (const auto limit = group_memory_limit(paths)) {
    finding.found += "; the control group has at most " + format_bytes(*limit);
    finding.figures["group_limit_bytes"] = *limit;
  }
  if (!available || *available >= 2 * kGib) return finding;
  finding.state = State::kNote;
  finding.effect = "runs on the CPU, offload, and several cells at once (sweep --jobs)";
  finding.repair = "headroom sweep --model-size small --device virtual:h200 --jobs 1";
  return finding;
}

struct ProcessLimit {
  const char* name;
  decltype(RLIMIT_AS) resource;
  const char* flag;  // of ulimit
  int64_t unit;      // bytes, or things, of one unit of ulimit's
  int64_t enough;    // with as much as this nothing changes; RLIM_INFINITY is always enough
  const char* effect;
};

constexpr int64_t kAnyLimit = int64_t{1} << 62;
constexpr ProcessLimit kProcessLimits[] = {
    {"address space", RLIMIT_AS, "-v", 1024, kAnyLimit,
     "--device virtual: a virtual card reserves addresses, four times its memory"},
    {"file size", RLIMIT_FSIZE, "-f", 1024, kAnyLimit, "snapshots, Records and checkpoints"},
    {"open files", RLIMIT_NOFILE, "-n", 1, 1024, "many cells at once (sweep --jobs, --mesh)"},
    {"processes", RLIMIT_NPROC, "-u", 1, 1024, "many cells at once (sweep --jobs, --mesh)"},
};

Finding limit_finding(const ProcessLimit& limit) {
  Finding finding{.area = kHostArea, .name = limit.name};
  rlimit value{};
  if (::getrlimit(limit.resource, &value) != 0) {
    finding.found = "not available";
    return finding;
  }
  finding.figures["limit"] = nullptr;
  if (value.rlim_cur == RLIM_INFINITY) {
    finding.found = "unlimited";
    return finding;
  }
  const auto amount = static_cast<int64_t>(value.rlim_cur);
  finding.figures["limit"] = amount;
  finding.found = "ulimit " + std::string(limit.flag) + " allows " +
                  (limit.unit > 1 ? format_bytes(amount) : std::to_string(amount));
  if (amount >= limit.enough) return finding;
  finding.state = State::kNote;
  finding.effect = limit.effect;
  // A process may raise its own limit as far as the hard one.
  finding.repair = "ulimit " + std::string(limit.flag) + " " +
                   (value.rlim_max == RLIM_INFINITY
                        ? "unlimited"
                        : std::to_string(static_cast<int64_t>(value.rlim_max) / limit.unit));
  return finding;
}

// The nearest folder above that exists: the others are created when they are needed.
std::string existing(std::string folder) {
  while (!folder.empty() && ::access(folder.c_str(), F_OK) != 0) folder = folder_above(folder);
  return folder.empty() ? "/" : folder;
}

Finding disk_finding(const std::string& name, const std::string& folder, const std::string& effect,
                     const std::string& repair) {
  Finding finding{.area = kHostArea, .name = name};
  const std::string place = existing(folder);
  struct statvfs disk {};
  if (::statvfs(place.c_str(), &disk) != 0) {
    finding.found = folder + ": not available";
    return finding;
  }
  const auto bytes = static_cast<int64_t>(disk.f_bavail * disk.f_frsize);
  finding.figures = {{"folder", folder}, {"free_bytes", bytes}};
  finding.found = folder + ": " + format_bytes(bytes) + " free";
  const bool writable = ::access(place.c_str(), W_OK) == 0;
  if (writable && bytes >= kGib) return finding;
  finding.state = State::kNote;
  if (!writable) finding.found += ", not writable";
  finding.effect = effect;
  finding.repair = repair;
  return finding;
}

}  // namespace

Findings check_host(const KernelPaths& paths) {
  Findings findings = {{.area = kHostArea,
                        .name = "processors",
                        .found = std::to_string(cores()) + " usable",
                        .figures = {{"usable", cores()}}},
                       memory_finding_of_host(paths)};
  for (const ProcessLimit& limit : kProcessLimits) findings.push_back(limit_finding(limit));
  findings.push_back(
      disk_finding("working directory", ".", "results that are written here", "cd \"$HOME\""));
  findings.push_back(disk_finding("temporary files", temporary_folders().front(),
                                  "reports of dry runs", "export TMPDIR=/var/tmp"));
  findings.push_back(disk_finding("compiled kernels", compiled_cache(), "--kernels compiled",
                                  "export XDG_CACHE_HOME=/var/tmp/cache"));
  return findings;
}

}  // namespace headroom
