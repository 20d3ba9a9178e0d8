#include "virtual_gpu/report/ending.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "virtual_gpu/device/machine.h"
#include "virtual_gpu/report/report.h"

namespace virtual_gpu {
namespace {

constexpr const char* kRunning = ".running";
constexpr const char* kEnding = ".ending";

std::atomic<bool> was_observed_here{false};

// One writer at a time: a signal may come while the process ends by itself. A longer wait would be
// for this thread itself, or for a writer that never ends.
class Turn {
 public:
  Turn() : lock_(mutex, std::chrono::seconds(2)) {}
  explicit operator bool() const { return lock_.owns_lock(); }

 private:
  static inline std::timed_mutex mutex;
  std::unique_lock<std::timed_mutex> lock_;
};

// Writes the whole report or none.
void write_report(const std::string& stem) {
  const std::string path = stem + ".json";
  const std::string temporary = path + ".tmp";
  std::FILE* file = std::fopen(temporary.c_str(), "w");
  if (file == nullptr) return;
  const bool is_whole = std::fputs(report().c_str(), file) >= 0;
  if (std::fclose(file) == 0 && is_whole) {
    std::rename(temporary.c_str(), path.c_str());
    for (const char* mark : {kRunning, kEnding}) unlink((stem + mark).c_str());
  } else {
    unlink(temporary.c_str());
  }
}

void observe(const std::string& stem) {
  if (headroom_observe == nullptr) return;
  const std::string path = stem + ".torch.json";
  if (access(path.c_str(), F_OK) == 0) return;
  headroom_observe(stem.c_str());
  was_observed_here = access(path.c_str(), F_OK) == 0;
}

__attribute__((constructor)) void watch_quick_exit() { std::at_quick_exit(report_ending); }

// exit(): libtorch may be gone by now; a handler in machine.cpp has observed it.
__attribute__((destructor)) void write_at_exit() {
  const std::string stem = virtual_gpu_report_stem();
  if (stem.empty()) return;
  if (const Turn turn; turn) write_report(stem);
}

[[noreturn]] void end_process(int code) {
  for (;;) syscall(SYS_exit_group, code);
}

}  // namespace

void report_ending() {
  const std::string stem = virtual_gpu_report_stem();
  if (stem.empty()) return;
  const Turn turn;
  if (!turn) return;
  observe(stem);
  write_report(stem);
}

void take_report_back() {
  const std::string stem = virtual_gpu_report_stem();
  if (stem.empty()) return;
  mark_running(stem);
  unlink((stem + ".json").c_str());
  if (was_observed_here.exchange(false)) unlink((stem + ".torch.json").c_str());
}

void mark_running(const std::string& stem) {
  const std::string path = stem + kRunning;
  const std::string temporary = path + ".tmp";
  if (std::FILE* file = std::fopen(temporary.c_str(), "w")) {
    const char* rank = std::getenv("RANK");
    std::fprintf(file, "%d %s\n", static_cast<int>(getpid()), rank == nullptr ? "" : rank);
    std::fclose(file);
    std::rename(temporary.c_str(), path.c_str());
  }
}

void mark_ending() {
  const std::string stem = virtual_gpu_report_stem();
  if (stem.empty()) return;
  if (std::FILE* file = std::fopen((stem + kEnding).c_str(), "w")) std::fclose(file);
}

}  // namespace virtual_gpu

using namespace virtual_gpu;

const char* virtual_gpu_report_stem() {
  return Machine::is_of_this_process() ? Machine::get().report_stem().c_str() : "";
}

extern "C" [[noreturn]] void _exit(int code) {
  report_ending();
  end_process(code);
}

extern "C" [[noreturn]] void _Exit(int code) noexcept {
  report_ending();
  end_process(code);
}

// In C++ an uncaught out-of-memory error ends here. If reporting itself aborts, the second call
// skips it.
extern "C" [[noreturn]] void abort() noexcept {
  static std::atomic<bool> is_ending{false};
  if (Machine::is_of_this_process() && !is_ending.exchange(true)) report_ending();
  using Abort = void (*)();
  if (auto* real = reinterpret_cast<Abort>(dlsym(RTLD_NEXT, "abort"))) real();
  end_process(134);
}
