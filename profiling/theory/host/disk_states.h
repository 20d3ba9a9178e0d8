// What --optimizer-offload nvme:DIR keeps in files, and what a step moves to and from all that is
// kept in files. No torch here. Read beside train/offload/disk/disk_layout.h.
#pragma once

#include "profiling/theory/row_builder.h"
#include "train/offload/host_states.h"

namespace headroom {

inline constexpr const char* kDiskStates = "states on the disk";

// Masters and moments twice, as there are two generations, and what makes whole pages of them, all
// in space kDisk.
void add_disk_state_rows(RowBuilder& sheet);

// What makes files of so many bytes of the rows of the group that has begun; `row` says why and
// where.
void add_padding(RowBuilder& sheet, int64_t bytes, RowInput row);

// Of the files, of the buffers, and of one step, parameters' too. Nothing where nothing is on a
// disk.
DiskFigures disk_figures(const RunSpec& spec);

// Lines for people.
std::vector<std::string> disk_notes(const DiskFigures& figures);

}  // namespace headroom
