// make_snapshot EVENTS FILE: writes a sample snapshot and prints what a reader must find in it.
#include <cstdio>
#include <cstdlib>

#include "profiling/snapshot_write.h"
#include "tests/profiling/snapshot_sample.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: make_snapshot EVENTS FILE\n");
    return 2;
  }
  const headroom::SnapshotSample sample = headroom::make_sample(strtoll(argv[1], nullptr, 10));
  headroom::write_snapshot(sample.snapshot, argv[2]);
  printf(
      "{\"events\": %zu, \"segments\": %zu, \"peak_bytes\": %lld, \"live_at_end_bytes\": %lld}\n",
      sample.snapshot.device_traces[0].size(), sample.snapshot.segments.size(),
      static_cast<long long>(sample.peak_bytes), static_cast<long long>(sample.live_at_end_bytes));
  return 0;
}
