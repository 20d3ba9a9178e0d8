// make_snapshot EVENTS FILE: writes a sample snapshot and prints the expected figures.
// make_snapshot --check FILE: reads a snapshot and prints its figures.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "profiling/snapshot/analysis/top.h"
#include "profiling/snapshot/read.h"
#include "profiling/snapshot/validate.h"
#include "profiling/snapshot/write.h"
#include "tests/profiling/snapshot/sample.h"

namespace headroom {
namespace {

void make(int64_t events, const char* path) {
  const SnapshotSample sample = make_sample(events);
  write_snapshot(sample.snapshot, path);
  printf("{\"events\": %zu, \"segments\": %zu, \"peak_bytes\": %lld}\n",
         sample.snapshot.device_traces[0].size(), sample.snapshot.segments.size(),
         static_cast<long long>(sample.peak_bytes));
}

void check(const char* path) {
  const SnapshotFile file = read_snapshot_file(path);
  printf("{\"events\": %zu, \"segments\": %zu, \"peak_bytes\": %lld, \"errors\": %s}\n",
         file.snapshot.device_traces[0].size(), file.snapshot.segments.size(),
         static_cast<long long>(largest_allocations(file.snapshot, 1).peak_bytes),
         has_error(validate_snapshot(file)) ? "true" : "false");
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: make_snapshot EVENTS|--check FILE\n");
    return 2;
  }
  try {
    if (std::string_view(argv[1]) == "--check") {
      headroom::check(argv[2]);
    } else {
      headroom::make(strtoll(argv[1], nullptr, 10), argv[2]);
    }
  } catch (const std::exception& error) {
    fprintf(stderr, "make_snapshot: %s\n", error.what());
    return 1;
  }
  return 0;
}
