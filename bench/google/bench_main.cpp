// headroom_bench: training steps under Google Benchmark. See Note [Benchmarks share a process].
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <stdexcept>

#include "bench/google/step_benchmark.h"
#include "bench/google/whole_csv.h"
#include "files/atomic_file.h"
#include "text/quantity.h"

namespace headroom {
namespace {

// A file without a name: the library writes it, the program reads it back, nothing is left behind.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("benchmark_out", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::runtime_error(std::string("memfd: ") + std::strerror(errno));
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  std::string text() const {
    std::string all;
    std::array<char, 65536> part{};
    while (true) {
      const ssize_t got =
          ::pread(descriptor_, part.data(), part.size(), static_cast<off_t>(all.size()));
      if (got < 0) throw std::runtime_error(std::string("memfd: ") + std::strerror(errno));
      if (got == 0) return all;
      all.append(part.data(), static_cast<size_t>(got));
    }
  }

 private:
  int descriptor_;
};

// The library's own words, all of them known to be right. It keeps a pointer to the first.
void initialize(std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  benchmark::SetDefaultTimeUnit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv.data());
}

void print_help() {
  std::fputs(bench_help().c_str(), stdout);
  benchmark::PrintDefaultHelp();
}

void check_stdout() {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0) {
    throw std::runtime_error("cannot write to stdout");
  }
}

int exit_code(const StepBenchmarks& benchmarks) {
  if (benchmarks.failed() == 0) return 0;
  return benchmarks.failed() == benchmarks.ran() ? 4 : 3;
}

int run(int argc, char** argv) {
  const BenchRequest request = parse_request(argc, argv, has_cuda_card());
  if (request.help) {
    print_help();
    check_stdout();
    return 0;
  }
  const bool writes = !request.google.out.empty() && !request.google.list_tests;
  const MemoryFile out;
  std::vector<std::string> arguments = request.google.arguments;
  arguments.insert(arguments.begin(), argv[0]);
  // Said even when empty: $BENCHMARK_OUT must not reach the library.
  arguments.push_back("--benchmark_out=" + (writes ? out.path() : ""));
  initialize(arguments);

  std::vector<std::string> names;
  for (const StepCase& step_case : request.cases) names.push_back(step_case.full_name());
  count_matches(benchmark::GetBenchmarkFilter(), names);
  if (writes) check_writable(request.google.out);

  StepBenchmarks benchmarks(request);
  if (!request.google.list_tests) benchmarks.add_context();
  WholeCsv csv;  // nullptr: the library's own reporter of the format asked for
  WholeCsv out_csv;
  benchmark::RunSpecifiedBenchmarks(
      request.google.format == "csv" ? &csv : nullptr,
      writes && request.google.out_format == "csv" ? &out_csv : nullptr);
  check_stdout();
  if (writes) write_file_atomically(request.google.out, out.text());
  return exit_code(benchmarks);
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
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
