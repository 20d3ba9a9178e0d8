// libFuzzer target: no input may crash the reader, the validator or the search for the peak.
// Not built by default:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -I.
//   tests/profiling/snapshot/pickle_fuzz.cpp
//     profiling/{pickle_read,snapshot,snapshot_read,snapshot_top,snapshot_validate}.cpp
//     -o build/pickle_fuzz
//   build/pickle_fuzz -rss_limit_mb=2000 -max_len=20000 DIRECTORY_OF_SNAPSHOTS
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "profiling/snapshot/analysis/top.h"
#include "profiling/snapshot/read.h"
#include "profiling/snapshot/validate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const headroom::SnapshotFile file =
        headroom::parse_snapshot({reinterpret_cast<const char*>(data), size});
    headroom::validate_snapshot(file);
    headroom::largest_allocations(file.snapshot, 0);
  } catch (const headroom::PickleError&) {  // the only way to refuse
  }
  return 0;
}
