#include "bench/dryrun/dryrun.h"

#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "bench/dryrun/program.h"
#include "bench/process/child_process.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

// A folder that goes away with what is in it.
class Scratch {
 public:
  Scratch() {
    const char* named = std::getenv("TMPDIR");
    std::error_code deleted;  // the working directory may be gone
    for (const std::string& parent :
         {std::string(named == nullptr ? "" : named), std::string("/tmp"), std::string("/dev/shm"),
          fs::current_path(deleted).string()}) {
      std::string path = parent + "/headroom-dryrun.XXXXXX";
      if (!parent.empty() && mkdtemp(path.data()) != nullptr) {
        path_ = fs::absolute(path).string();
        return;
      }
    }
    throw std::runtime_error(
        "no folder to collect reports in: $TMPDIR, /tmp, /dev/shm and the working directory are "
        "not writable");
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

volatile std::sig_atomic_t child = 0;

// While a program of the user's runs: ^C reaches it by itself (same process group) and must not
// end us before its report; a SIGTERM comes to us alone and is handed on.
class SignalForwarding {
 public:
  explicit SignalForwarding(pid_t pid) {
    child = pid;
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &previous_[0]);
    sigaction(SIGQUIT, &ignore, &previous_[1]);
    struct sigaction forward {};
    forward.sa_handler = [](int signal) { kill(child, signal); };
    forward.sa_flags = SA_RESTART;
    sigaction(SIGTERM, &forward, &previous_[2]);
    sigaction(SIGHUP, &forward, &previous_[3]);
  }
  ~SignalForwarding() {
    constexpr int kSignals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    for (int i = 0; i < 4; ++i) sigaction(kSignals[i], &previous_[i], nullptr);
  }

 private:
  struct sigaction previous_[4];
};

std::vector<std::string> environment(const DryRun& request, const std::string& prefix) {
  const fs::path folder = fs::path(stand_in_libraries().front()).parent_path();
  std::string observer = (folder / "libheadroom_observer.so").string();
  if (access(observer.c_str(), R_OK) != 0) observer.clear();
  std::vector<std::string> set =
      stand_in_environment(request.card, request.count, prefix, observer);
  set.push_back(path_list_variable("PYTHONPATH", (folder / "python_hook").string()));
  // Triton links its helpers against the driver and does not look where it is loaded from.
  set.push_back("TRITON_LIBCUDA_PATH=" + (folder / "driver").string());
  if (!request.snapshot.empty()) {
    set.push_back("HEADROOM_DRYRUN_SNAPSHOT=" + fs::absolute(request.snapshot).string());
  }
  if (request.skip_host_init) set.emplace_back("HEADROOM_DRYRUN_SKIP_HOST_INIT=1");
  return torch_environment(request.alloc_conf, std::move(set));
}

pid_t start(const std::string& program, const std::vector<std::string>& words,
            const std::vector<std::string>& variables) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&defaults, signal);  // which we ignore
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
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
    if (path.extension() != ".json") continue;  // cut off while it was written
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    path.replace_extension();
    const bool is_allocators = path.extension() == ".torch";
    if (is_allocators) path.replace_extension();
    ProcessReport& report = reports[path];
    (is_allocators ? report.allocator : report.stand_in) = text;
  }
  std::vector<ProcessReport> all;
  for (auto& [path, report] : reports) all.push_back(std::move(report));
  return all;
}

}  // namespace

std::string snapshot_of_process(const std::string& file, int64_t pid) {
  const fs::path path(file);
  fs::path stem = path;
  stem.replace_extension();
  return stem.string() + "." + std::to_string(pid) + path.extension().string();
}

DryRunOutcome run_dry(const DryRun& request) {
  const std::string program = find_program(request.words.front());
  check_can_preload(program);
  const Scratch scratch;
  const auto variables = environment(request, scratch.path() + "/report");
  const auto began = std::chrono::steady_clock::now();
  const pid_t pid = start(program, request.words, variables);
  DryRunOutcome outcome;
  {
    const SignalForwarding forwarding(pid);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  outcome.reports = read_reports(scratch.path());
  return outcome;
}

}  // namespace headroom
