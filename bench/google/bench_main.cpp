// headroom_bench: training steps under Google Benchmark. See Note [Benchmarks share a process].
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include "bench/google/library_flags.h"
#include "bench/google/step_benchmark.h"
#include "bench/google/whole_csv.h"
#include "bench/google/without_debug_line.h"
#include "bench/launch/preparation/compiled_regions.h"
#include "bench/process/interrupt.h"
#include "bench/process/virtual_card.h"
#include "files/atomic_file.h"
#include "files/same_file.h"
#include "text/quantity.h"
#include "train/offload/disk/places.h"
#include "train/settings/device/real_device.h"

namespace headroom {
namespace {

// A file without a name: the library writes it, the program reads it back, nothing remains.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("benchmark_out", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::runtime_error(std::string("memfd: ") + std::strerror(errno));
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  // Throws std::runtime_error if it is truncated: the library's stream fails silently at a file
  // size limit (ulimit -f).
  std::string text() const {
    std::ifstream file(path());
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes.size() >= limit.rlim_cur) {
      throw std::runtime_error(std::string("cannot keep the results: ") + std::strerror(EFBIG));
    }
    return bytes;
  }

 private:
  int descriptor_;
};

void check_stdout() {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0) {
    throw std::runtime_error("cannot write to stdout");
  }
}

void print_help() {
  std::fputs(bench_help().c_str(), stdout);
  benchmark::PrintDefaultHelp();
  check_stdout();
}

// The number of benchmarks that the filter matched; the library reports a 0 itself.
size_t run_all(const std::vector<std::string>& flags, bool writes) {
  const bool csv = library_value(flags, "--benchmark_format") == "csv";
  const bool file_csv = writes && library_value(flags, "--benchmark_out_format") == "csv";
  const WithoutDebugLine without;
  WholeCsv display_reporter;
  WholeCsv file_reporter;  // nullptr: the library's own reporter of the requested format
  return benchmark::RunSpecifiedBenchmarks(csv ? &display_reporter : nullptr,
                                           file_csv ? &file_reporter : nullptr);
}

// Starts this program anew under the stand-in if its benchmarks run on a virtual card.
void run_on_virtual_card(const std::vector<RunSpec>& specs, char** argv) {
  const auto virtual_one = std::find_if(specs.begin(), specs.end(), is_virtual);
  if (virtual_one == specs.end() || under_virtual_card()) return;
  for (const RunSpec& spec : specs) {
    if (spec.device == virtual_one->device) continue;
    throw UsageError("--device", to_string(spec.device),
                     "cannot be timed beside " + to_string(virtual_one->device) +
                         ", because one process has one virtual card; allowed: one virtual card",
                     "--device " + to_string(virtual_one->device));
  }
  for (const std::string& variable :
       cell_stand_in_environment(virtual_card(virtual_one->device), 1)) {
    const size_t equals = variable.find('=');
    const std::string name = variable.substr(0, equals);
    if (equals == std::string::npos) {
      ::unsetenv(name.c_str());
    } else {
      ::setenv(name.c_str(), variable.c_str() + equals + 1, /*overwrite=*/1);
    }
  }
  ::execv("/proc/self/exe", argv);
  throw std::runtime_error(std::string("cannot start anew: ") + std::strerror(errno));
}

int exit_code(const StepBenchmarks& benchmarks) {
  if (benchmarks.failed() == 0) return 0;
  return benchmarks.failed() == benchmarks.ran() ? 4 : 3;
}

int run(int argc, char** argv) {
  const BenchRequest request = parse_request(argc, argv, has_cuda_card());
  if (request.help) {
    print_help();
    return 0;
  }
  const std::string out = library_value(request.library_flags, "--benchmark_out").value_or("");
  const MemoryFile file;
  std::vector<std::string> flags = request.library_flags;
  flags.push_back("--benchmark_out=" + (out.empty() ? "" : file.path()));
  initialize_library(argv[0], flags);
  if (!out.empty()) {
    const char* cards = std::getenv("HEADROOM_CARDS");
    check_apart({{"HEADROOM_CARDS", cards == nullptr ? "" : cards}}, {{"--benchmark_out", out}});
    check_writable(out);
  }

  std::vector<RunSpec> specs;
  for (const StepCase& each : request.cases) specs.push_back(each.spec);
  check_disk_places(specs);
  {
    const InterruptGuard guard;  // ^C ends the compiler here, elsewhere the program
    CellOptions options;
    options.on_talk = [](const std::string& line) {
      std::fprintf(stderr, "headroom_bench: %s\n", line.c_str());
    };
    compile_regions(specs, options);
    if (interrupted()) return kInterruptedExitCode;
  }
  run_on_virtual_card(specs, argv);

  StepBenchmarks benchmarks(request);
  benchmarks.add_context();
  const size_t matched = run_all(flags, !out.empty());
  check_stdout();
  if (matched == 0) return 2;
  const std::string text = out.empty() ? "" : file.text();
  if (!text.empty()) write_file_atomically(out, text);  // empty: the benchmarks were only listed
  return exit_code(benchmarks);
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  std::signal(SIGXFSZ,
              SIG_IGN);  // an exceeded file size limit is a one-line error, like a full disk
  try {
    return headroom::run(argc, argv);
  } catch (const headroom::UsageError& error) {
    std::fprintf(stderr, "headroom_bench: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "headroom_bench: %s\n", error.what());
    return 5;
  }
}
