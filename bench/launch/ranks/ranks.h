// Runs the ranks of one cell on one machine: one process each, one Record. No torch here.
//
// Note [Ranks of one cell]
// Rationale: a cell with a mesh is one run of many processes; its result should be one row.
// Approach: every rank is a headroom-cell with a launcher's variables (RANK, WORLD_SIZE,
//   LOCAL_RANK, MASTER_ADDR, MASTER_PORT; rank 0 has the store). The Record is that of the rank
//   with the highest peak, or of the one that failed by itself first, with the mean of the
//   replicas' losses; Record::ranks has each one's status and peak. After one failed all are
//   killed.
// Limits: all ranks are on this machine.
//
// Note [A rank that a launcher started]
// Rationale: on several machines a launcher (torchrun, mpirun) starts each machine's ranks, and
//   sets each rank's number.
// Approach: with HEADROOM_LAUNCHED=1 a cell with a mesh runs only the rank named by the launcher's
//   variables, and its Record has one entry of Record::ranks. Unlike headroom-cell alone, such a
//   rank has the flags, the virtual card, the limits, and a Record however it ends.
//   scripts/launch.sh does this with torchrun and prints the Records of its machine's ranks.
// Limits: ranks of other machines are not stopped: they time out after half their deadline.
#pragma once

#include "bench/launch/cell.h"

namespace headroom {

// One rank's options, with the variables of a launcher of all ranks on this machine; its output
// carries its number.
CellOptions options_of_launched(const CellOptions& options, int64_t rank, int64_t ranks, int port);

// Fork servers for cells that differ in a launcher's variables.
std::shared_ptr<ForkServers> forks_of_cells();

// Like run_cell(), for a spec with more than one rank.
Record run_ranks(const RunSpec& spec, const CellOptions& options);

// Note [A rank that a launcher started]
bool is_launched_rank();
Record run_launched_rank(const RunSpec& spec, const CellOptions& options);

}  // namespace headroom
