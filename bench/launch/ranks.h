// The ranks of one cell, on one machine: one process each, one Record of all. No torch here.
//
// Note [Ranks of one cell]
// Rationale: a cell with a mesh is one run of many processes; who asked for it wants one row.
// Approach: every rank is a headroom-cell with what a launcher would set (RANK, WORLD_SIZE,
//   LOCAL_RANK, MASTER_ADDR, MASTER_PORT; rank 0 has the store). The Record is that of the rank
//   whose peak is highest, or of the one that failed by itself first, with the mean of the
//   replicas' losses; Record::ranks has each one's status and peak. When one has failed all are
//   killed.
// Limits: all ranks here.
//
// Note [A rank that a launcher started]
// Rationale: on several machines someone else starts the ranks (torchrun, mpirun), on each machine
//   its own, and tells each who it is.
// Approach: with HEADROOM_LAUNCHED=1 a cell with a mesh is one rank, that which the launcher's
//   variables name; it starts no others, and its Record has one entry of Record::ranks. Beside the
//   cell alone that gives a rank the flags, the virtual card, the limits and a Record whichever way
//   it ends. scripts/launch.sh does so by torchrun and prints the Records of its machine's ranks.
// Limits: nobody stops ranks of other machines: they fail of its silence, in half their deadline.
#pragma once

#include "bench/launch/cell.h"

namespace headroom {

// What a launcher of all ranks on this machine tells one of them; what it says is under its number.
CellOptions options_of_launched(const CellOptions& options, int64_t rank, int64_t ranks, int port);

// Servers whose cells differ by what launchers tell a rank.
std::shared_ptr<ForkServers> forks_of_cells();

// As run_cell(), of a spec whose mesh is more than one rank.
Record run_ranks(const RunSpec& spec, const CellOptions& options);

// Note [A rank that a launcher started]
bool is_launched_rank();
Record run_launched_rank(const RunSpec& spec, const CellOptions& options);

}  // namespace headroom
