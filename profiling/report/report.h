// Tables from Records: every number that headroom prints goes through here. No torch here.
//
// A failed cell keeps its row: its status ("oom") stands for the number, and the reason is in a
// note and, for programs, in a column. People never read a blank or NaN. Programs read an empty
// text for a missing value, and every setting that distinguishes rows.
#pragma once

#include <vector>

#include "profiling/record/record.h"
#include "profiling/theory/host/disk_rate.h"
#include "text/table.h"

namespace headroom {

// One run in full, the answer first: peaks and their phases, peak per phase, time per step; then
// categories at the peak (they sum to it to the byte), bytes kept for backward, theory beside
// measurement, protocol. For a failed run the protocol, with the status, comes first.
// disk_rate: of the disk in use.
std::vector<Table> profile_report(const Record& record, const DiskRate& disk_rate = {});

// Part b of the assignment: one row per context length, one column per mode.
Table peak_memory_table(const std::vector<Record>& records);

// Part c: one row per mode and context length, FP32 beside autocast, and the bytes that autocast
// does not change. The first table is the comparison, the rest its breakdowns.
std::vector<Table> mixed_precision_tables(const std::vector<Record>& records);

// Bytes that backward needs, per block and in all, measured and by theory; one row per Record.
Table residuals_table(const std::vector<Record>& records);

// Any Records: the settings that vary, status, peaks, median step.
Table summary_table(const std::vector<Record>& records);

}  // namespace headroom
