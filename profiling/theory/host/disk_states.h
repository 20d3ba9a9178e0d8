// Files of --optimizer-offload nvme:DIR, and a step's bytes to and from all files. No torch here.
// Read beside train/offload/disk/disk_layout.h.
#pragma once

#include "profiling/theory/row_builder.h"
#include "train/offload/states/host_states.h"

namespace headroom {

inline constexpr const char* kDiskStates = "states on the disk";

// Masters and moments twice, for two generations, and their padding to whole pages, all in space
// kDisk.
void add_disk_state_rows(RowBuilder& sheet);

// Pads the rows of the current group to files of `bytes`; `row` has the reason and the source.
void add_padding(RowBuilder& sheet, int64_t bytes, RowInput row);

// For the files, the buffers and one step, with the parameters'. Zeros if nothing is on a disk.
DiskFigures disk_figures(const RunSpec& spec);

// Lines for people.
std::vector<std::string> disk_notes(const DiskFigures& figures);

}  // namespace headroom
