// RunSpecs from flags: one flag per row of fields(), and the assignment's spellings. No torch.
//
// Note [The assignment's spellings]
// Rationale: the profiling assignment's command lines should run unchanged.
// Approach: --output FILE is --snapshot FILE; --use-mixed-precision [--dtype bf16|fp16] is
//   --precision bf16|fp16; --model-size has no default.
// Limits: both spellings of one setting in one command are an error, even if they agree.
#pragma once

#include <string>
#include <vector>

#include "bench/sweep/sweep.h"
#include "cli/flags/flags.h"
#include "profiling/theory/host/disk_rate.h"
#include "train/settings/spec.h"

namespace headroom {

// The flags of `headroom profile`, each with a single value.
std::vector<Flag> cell_flags();

// The flags of `headroom sweep`: every value may be a comma list, except paths and values that may
// contain commas; without flags that would make all cells write the same file.
std::vector<Flag> grid_flags();

// --deadline and --host-memory.
std::vector<Flag> limit_flags();

// Throws UsageError; the spec is validated.
RunSpec cell_from(const Arguments& arguments);
// `base` changed by the typed flags, neither validated nor with a resolved device.
RunSpec typed_over(RunSpec base, const Arguments& arguments);

struct SweepGrid {
  RunSpec base;
  std::vector<Axis> axes;  // in the order of fields()
};
SweepGrid grid_from(const Arguments& arguments);

// Resolves "auto": the card of this machine, or a virtual one if it has none. Throws UsageError for
// an unknown virtual card.
void settle_devices(std::vector<RunSpec>& specs);

// --disk-rate, for printed minimum times. Throws UsageError, also if nothing is on a disk.
Flag disk_rate_flag();
DiskRate disk_rate_from(const Arguments& arguments, const RunSpec& spec);

CellOptions limits_from(const Arguments& arguments);

// --format for Records: "table", "csv" or "md", or "json" or "jsonl" for the Records themselves.
// Throws UsageError.
std::string format_from(const Arguments& arguments);
inline bool is_record_format(const std::string& format) {
  return format == "json" || format == "jsonl";
}

}  // namespace headroom
