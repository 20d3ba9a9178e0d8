// RunSpecs from flags: one flag per row of fields(), and the assignment's own spellings. No torch.
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

// The flags of `headroom profile`, every value a single one.
std::vector<Flag> cell_flags();

// The flags of `headroom sweep`: every value may be a comma list, except paths and what may itself
// hold commas; nothing that would make all cells write the same file.
std::vector<Flag> grid_flags();

// --deadline and --host-memory.
std::vector<Flag> limit_flags();

// Throws UsageError; the spec is validated.
RunSpec cell_from(const Arguments& arguments);
// The same of `base` with what was typed over it, neither validated nor its device settled.
RunSpec typed_over(RunSpec base, const Arguments& arguments);

struct SweepGrid {
  RunSpec base;
  std::vector<Axis> axes;  // in the order of fields()
};
SweepGrid grid_from(const Arguments& arguments);

// "auto" is settled: the card of this machine, or a virtual one where it has none. Throws
// UsageError for a virtual card that is none.
void settle_devices(std::vector<RunSpec>& specs);

// --disk-rate, of what prints least times. Throws UsageError, also where nothing is on a disk.
Flag disk_rate_flag();
DiskRate disk_rate_from(const Arguments& arguments, const RunSpec& spec);

CellOptions limits_from(const Arguments& arguments);

// --format of what prints Records: "table", "csv" or "md", or "json" or "jsonl" for the Records
// themselves. Throws UsageError.
std::string format_from(const Arguments& arguments);
inline bool is_record_format(const std::string& format) {
  return format == "json" || format == "jsonl";
}

}  // namespace headroom
