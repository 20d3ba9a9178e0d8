// What --param-offload leaves on the card, what lies on the host and what crosses the link. No
// torch here. Read beside train/offload/offloaded_parameters.h.
#pragma once

#include "profiling/theory/row_builder.h"
#include "train/offload/host_states.h"
#include "train/offload/host_traffic.h"

namespace headroom {

// Of the blocks' parameters in one forward and backward.
struct BlockMoves {
  int64_t most = 0;     // blocks on the card at once
  int64_t fetches = 0;  // blocks that come
};

// Counted by the books that the step follows (train/offload/block_prefetcher.h), over the groups
// that are computed again.
BlockMoves block_moves(const RunSpec& spec);

// Parameters: all of them, or those that are on the card at once, and all of the blocks' on the
// host, or on the disk and those of the staged blocks on the host. stored: what they are.
void add_parameter_rows(RowBuilder& sheet, const std::string& stored);

// Of the rows of kParameters, what is not on the card when the forward has ended, or the backward.
int64_t parameters_away(const std::vector<Row>& rows, const RunSpec& spec, bool after_backward);

// Of all parameters that come and go.
int64_t offloaded_parameter_bytes(const std::vector<Row>& rows, const RunSpec& spec);

// Over the host link in one step.
HostTraffic parameter_traffic(const std::vector<Row>& rows, const RunSpec& spec);

// Of the file, and of one step. Nothing where they are in no file.
DiskFigures parameter_disk_figures(const RunSpec& spec);

}  // namespace headroom
