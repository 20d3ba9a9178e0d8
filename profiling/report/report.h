// Tables from Records: every number that headroom prints goes through here. No torch here.
//
// A cell that failed keeps its row: where its number would be stands its status ("oom"), and the
// reason is in a note and, for programs, in a column. For people never a blank, never NaN; programs
// read an empty text where there is none, and every setting that tells a row from another.
#pragma once

#include <vector>

#include "profiling/record.h"
#include "profiling/theory/host/disk_rate.h"
#include "text/table.h"

namespace headroom {

// One run in full, the answer first: peaks and the phase that holds them, peak per phase, time per
// step; then categories at the peak (they sum to it to the byte), bytes kept for backward, theory
// beside measurement, protocol. Of a run that failed the protocol, with its status, comes first.
// disk_rate: of the disk on which something lies.
std::vector<Table> profile_report(const Record& record, const DiskRate& disk_rate = {});

// Part b of the assignment: one row per context length, one column per mode.
Table peak_memory_table(const std::vector<Record>& records);

// Part c: one row per mode and context length, FP32 beside autocast, and where the bytes are that
// autocast does not touch. The first table is the comparison, the rest its breakdowns.
std::vector<Table> mixed_precision_tables(const std::vector<Record>& records);

// Bytes that backward needs, per block and in all, measured and by theory; one row per Record.
Table residuals_table(const std::vector<Record>& records);

// Any Records: the settings that vary, status, peaks, median step.
Table summary_table(const std::vector<Record>& records);

}  // namespace headroom
