// Memory of --param-offload on the card and on the host, and its traffic over the link. No torch
// here. Read beside train/offload/blocks/offloaded_parameters.h.
#pragma once

#include "profiling/theory/row_builder.h"
#include "train/offload/host_traffic.h"
#include "train/offload/states/host_states.h"

namespace headroom {

// For the blocks' parameters in one forward and backward.
struct BlockMoves {
  int64_t most = 0;     // blocks on the card at once
  int64_t fetches = 0;  // blocks fetched
};

// Counted by the step's own prefetcher (train/offload/blocks/block_prefetcher.h), over the groups
// that are recomputed.
BlockMoves block_moves(const RunSpec& spec);

// Parameters: all, or those on the card at once, with all of the blocks' on the host, or on the
// disk and the staged blocks' on the host. stored: their type in words.
void add_parameter_rows(RowBuilder& sheet, const std::string& stored);

// Bytes of kParameters that are not on the card when the forward, or the backward, has ended.
int64_t parameters_away(const std::vector<Row>& rows, const RunSpec& spec, bool after_backward);

// Bytes of all parameters that come and go.
int64_t offloaded_parameter_bytes(const std::vector<Row>& rows, const RunSpec& spec);

// Over the host link in one step.
HostTraffic parameter_traffic(const std::vector<Row>& rows, const RunSpec& spec);

// For the file and one step. Zeros if there is no file.
DiskFigures parameter_disk_figures(const RunSpec& spec);

}  // namespace headroom
