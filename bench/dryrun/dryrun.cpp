#include "bench/dryrun/dryrun.h"

#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/dryrun/isolated_ranks.h"
#include "bench/dryrun/orphans.h"
#include "bench/dryrun/program.h"
#include "bench/process/child_process.h"
#include "bench/process/host_memory.h"
#include "bench/process/process_stat.h"
#include "files/directory.h"
#include "files/room.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

// Space for the reports of several processes.
constexpr int64_t kReportBytes = int64_t{1} << 20;

int report_space_error(const std::string& folder) {
  return space_error(folder + "/report", /*size=*/0, kReportBytes);
}

// A temporary folder, removed with its content, on a disk with enough space.
class Scratch {
 public:
  Scratch() {
    std::error_code deleted;  // the working directory may be gone
    std::vector<std::string> parents = temporary_folders();
    parents.insert(parents.end(), {"/dev/shm", fs::current_path(deleted).string()});
    for (const std::string& parent : parents) {
      std::string path = parent + "/headroom-dryrun.XXXXXX";
      if (parent.empty() || mkdtemp(path.data()) == nullptr) continue;
      path_ = fs::absolute(path).string();
      if (report_space_error(path_) == 0) return;
      rmdir(path_.c_str());
    }
    throw std::runtime_error(
        "no folder to collect reports in: $TMPDIR, /tmp, /dev/shm and the working directory are "
        "not writable or full");
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<std::string> environment(const DryRun& request, const std::string& prefix) {
  const fs::path folder = fs::path(stand_in_libraries().front()).parent_path();
  // Own cells never ask NVML; programs of others do.
  std::vector<std::string> last;
  for (const char* const name : {"driver/libnvidia-ml.so.1", "libheadroom_observer.so"}) {
    const std::string path = (folder / name).string();
    if (access(path.c_str(), R_OK) == 0) last.push_back(path);
  }
  std::vector<std::string> first;
  if (request.breakdown || !request.snapshot.empty())
    first.push_back((folder / "libheadroom_blocks.so").string());
  std::vector<std::string> set =
      stand_in_environment(request.card, request.count, prefix, first, last);
  if (request.breakdown) set.emplace_back("HEADROOM_DRYRUN_BREAKDOWN=1");
  set.push_back(path_list_variable("PYTHONPATH", (folder / "python_hook").string()));
  // Triton and torch's compiler link against the driver and ignore the folder that it is loaded
  // from.
  const std::string driver = (folder / "driver").string();
  set.push_back("TRITON_LIBCUDA_PATH=" + driver);
  set.push_back(path_list_variable("LIBRARY_PATH", driver));
  set.push_back("PATH=" + dry_run_path());
  if (!request.snapshot.empty()) {
    set.push_back("HEADROOM_DRYRUN_SNAPSHOT=" + fs::absolute(request.snapshot).string());
  }
  set.emplace_back(request.events == Events::kLate ? "HEADROOM_VIRTUAL_EVENTS=late"
                                                   : "HEADROOM_VIRTUAL_EVENTS=done");
  if (request.skip_host_init) set.emplace_back("HEADROOM_DRYRUN_SKIP_HOST_INIT=1");
  if (!request.values.empty()) {
    set.push_back("HEADROOM_DRYRUN_VALUES=" + values_json(request.values));
  }
  if (!request.route.empty()) set.push_back("HEADROOM_DRYRUN_ROUTE=" + request.route);
  return torch_environment(request.alloc_conf, std::move(set));
}

// Adds a launcher's variables for a rank, on nodes with `count` cards each.
std::vector<std::string> as_rank(std::vector<std::string> variables, const DryRun& request,
                                 int64_t rank, const std::string& job) {
  const int64_t local_size = std::min<int64_t>(request.count, request.world_size);
  const std::vector<std::pair<std::string, std::string>> told = {
      {"RANK", std::to_string(rank)},
      {"WORLD_SIZE", std::to_string(request.world_size)},
      {"LOCAL_RANK", std::to_string(rank % local_size)},
      {"LOCAL_WORLD_SIZE", std::to_string(local_size)},
      {"GROUP_RANK", std::to_string(rank / local_size)},
      {"MASTER_ADDR", "127.0.0.1"},
      {"MASTER_PORT", "29500"},
      {"HEADROOM_VIRTUAL_ABSENT", "1"},
      {"HEADROOM_VIRTUAL_JOB", job + "/job"},
  };
  for (const auto& [name, value] : told) {
    std::erase_if(variables, [&name = name](const std::string& variable) {
      return variable.starts_with(name + "=");
    });
    variables.push_back(name + "=" + value);
  }
  return variables;
}

pid_t start(const std::string& program, const std::vector<std::string>& words,
            const std::vector<std::string>& variables, const HeldSignals& signals) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&defaults, signal);  // ignored by us
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setsigmask(&attributes, &signals.previous_mask());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), nullptr, &attributes,
                                exec_pointers(words).data(), exec_pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw std::runtime_error("cannot run " + program + ": " + std::strerror(error));
  return pid;
}

// "report.123.json" and "report.123.torch.json" belong together.
std::vector<ProcessReport> read_reports(const std::string& folder) {
  std::map<fs::path, ProcessReport> reports;
  for (const auto& entry : fs::directory_iterator(folder)) {
    fs::path path = entry.path();
    if (path.extension() != ".json") continue;  // incomplete
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    path.replace_extension();
    const bool is_allocators = path.extension() == ".torch";
    if (is_allocators) path.replace_extension();
    ProcessReport& report = reports[path];
    (is_allocators ? report.allocator : report.stand_in) = text;
  }
  std::vector<ProcessReport> all;
  all.reserve(reports.size());
  for (auto& [path, report] : reports) all.push_back(std::move(report));
  return all;
}

// The reason for missing or truncated reports: the disk filled during the run. "" = there are none.
std::string lost_reports(const std::string& folder, const std::vector<ProcessReport>& reports) {
  const auto is_cut = [](const std::string& text) {
    return !text.empty() && !nlohmann::json::accept(text);
  };
  const bool any_cut = std::any_of(reports.begin(), reports.end(), [&](const ProcessReport& one) {
    return is_cut(one.stand_in) || is_cut(one.allocator);
  });
  const int error = report_space_error(folder);
  if (error == 0 && !any_cut) return "";
  return folder + ": " + (error == 0 ? "a report is cut off" : std::strerror(error));
}

bool is_running(int64_t pid) { return parent_of_running(static_cast<pid_t>(pid)).has_value(); }

// The file "<stem>.running", which exists until the report is written. A process that is ending by
// a signal adds "<stem>.ending".
struct Mark {
  std::string stem;
  int64_t pid = 0;
  int64_t rank = -1;
  bool is_ending = false;
};

std::vector<Mark> marks(const std::string& folder) {
  std::vector<Mark> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (path.extension() != ".running") continue;
    Mark mark{.stem = (path.parent_path() / path.stem()).string()};
    mark.is_ending = fs::exists(mark.stem + ".ending");
    std::ifstream file(path);
    if (file >> mark.pid && !(file >> mark.rank)) mark.rank = -1;
    found.push_back(std::move(mark));
  }
  return found;
}

// Marks without a report file.
std::vector<Unreported> without_report(const std::string& folder) {
  std::vector<Unreported> found;
  for (const Mark& mark : marks(folder)) {
    if (fs::exists(mark.stem + ".json") || fs::exists(mark.stem + ".torch.json")) continue;
    found.push_back({.pid = mark.pid, .rank = mark.rank, .is_running = is_running(mark.pid)});
  }
  std::sort(found.begin(), found.end(),
            [](const Unreported& a, const Unreported& b) { return a.pid < b.pid; });
  return found;
}

// Waits for processes ended by the same signal, which the stand-in's own limits end
// (kGraceSeconds), but not beyond another signal. A process not signalled within ten seconds is not
// awaited.
void await_reports(const std::string& folder, const HeldSignals& signals) {
  using std::chrono::seconds;
  using std::chrono::steady_clock;
  const auto began = steady_clock::now();
  for (;;) {
    const auto passed = steady_clock::now() - began;
    const std::vector<Mark> all = marks(folder);
    const bool is_one_coming = std::any_of(all.begin(), all.end(), [&](const Mark& mark) {
      return (mark.is_ending || passed < seconds(10)) && is_running(mark.pid);
    });
    // `timeout` sends its signal twice.
    if (!is_one_coming || (signals.comes_within(0.02) && passed > seconds(1))) return;
  }
}

}  // namespace

namespace {

// Runs `rank` alone, or the unchanged program (-1). The folder `job` passes files between ranks.
DryRunOutcome run_once(const DryRun& request, const std::string& program, int64_t rank,
                       const std::string& job, const HeldSignals& signals) {
  const Scratch scratch;
  auto variables = environment(request, scratch.path() + "/report");
  if (rank >= 0) variables = as_rank(std::move(variables), request, rank, job);
  adopt_orphans();
  const auto began = std::chrono::steady_clock::now();
  const int64_t kills_before = oom_kills().value_or(0);
  const pid_t pid = start(program, request.words, variables, signals);
  DryRunOutcome outcome;
  const Ending ending = wait_handing_on(pid, signals);
  if (WIFEXITED(ending.status)) outcome.exit_code = WEXITSTATUS(ending.status);
  if (WIFSIGNALED(ending.status)) outcome.signal = WTERMSIG(ending.status);
  outcome.asked_by = ending.signal;
  outcome.host_kills = oom_kills().value_or(kills_before) - kills_before;
  // Note [Orphans of a killed program]
  const bool was_killed = outcome.signal != 0 && ending.signal == 0;
  if (was_killed) tell_descendants_to_end();
  if (ending.signal != 0 || outcome.signal != 0) await_reports(scratch.path(), signals);
  if (was_killed) kill_descendants();
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  outcome.reports = read_reports(scratch.path());
  outcome.unreported = without_report(scratch.path());
  outcome.lost_reports = lost_reports(scratch.path(), outcome.reports);
  return outcome;
}

}  // namespace

DryRunOutcome run_dry(const DryRun& request, const HeldSignals& signals) {
  const std::string program = find_program(request.words.front());
  check_can_preload(program);
  const Scratch job;
  const RunRank run = [&](int64_t rank) {
    return run_once(request, program, rank, job.path(), signals);
  };
  if (request.distinct) return run_distinct(request.world_size, run);
  return request.ranks.empty() ? run(-1) : run_ranks(request.ranks, run);
}

}  // namespace headroom
