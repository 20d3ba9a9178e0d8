// One RunSpec run in a process of its own, seen from the parent. No torch here: the parent never
// loads libtorch and never touches CUDA, so nothing of one run can reach the next.
//
// Note [The cell program]
// Rationale: an out-of-memory, a crash or a poisoned CUDA context must cost one row, not the sweep.
// Approach: `headroom-cell` (bench/cell/cell_main.cpp) is the program that links libtorch; beside
//   it only headroom_bench does, which times steps in its own process. It reads one JSON object
//   {"spec": {...}, "host_memory_bytes": N, "progress": true} a line on stdin
//   (bench/launch/request.h), writes exactly one Record as one JSON line on stdout for each, talks
//   on stderr, and exits 0 when it wrote a Record, whatever the Record's status. `headroom-cell
//   --identity` prints what it is, as JSON (cell_identity below). Its main() begins with
//   die_with_parent() (bench/process/child_process.h). spec.alloc_conf is already in its
//   environment as PYTORCH_CUDA_ALLOC_CONF, set before libtorch's allocator reads it.
// Limits: about half a second of start-up per cell (libtorch's libraries are mapped each time).
//
// Note [Cells in one process]
// Rationale: published tables were mostly made by a program that runs its configurations in a loop.
//   What such a process keeps (the cuBLAS workspaces of threads that live on, 8 MiB each) is part
//   of the next one's peak.
// Approach: --one-process gives one headroom-cell all requests. Before each cell what the one
//   before left cached goes back to the card and the peaks begin anew, as gc.collect(),
//   torch.cuda.empty_cache() and torch.cuda.reset_peak_memory_stats() do; cuBLAS workspaces stay,
//   as they do there. A cell that runs out of memory leaves the process usable. One that dies takes
//   the process along, and one that fails otherwise ends it, because a CUDA error may have spoilt
//   it: the rest goes on in a fresh process. Each Record says how many cells ran before it in its
//   process.
// Limits: all cells share what a process has one of: the virtual card, the allocator's settings. A
//   row is on the disk when the parent has read it, while the next cell runs already.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/launch/progress.h"
#include "bench/launch/worker.h"
#include "bench/process/child_process.h"
#include "bench/process/fork_server.h"
#include "bench/process/host_memory.h"
#include "profiling/record/record.h"
#include "train/ppo/setup/setup.h"

namespace headroom {

// Which ranks of a mesh run: all together, or some of them, each alone.
struct RankChoice {
  enum class Kind {
    kAll,
    kListed,    // these
    kDistinct,  // one of each kind: Note [Distinct ranks]
  };
  Kind kind = Kind::kAll;
  std::vector<int64_t> ranks;  // of kListed
};

// Why a rank was killed that had not failed.
inline constexpr const char* kStoppedForAnother = "stopped: another rank had failed";

struct CellOptions {
  std::string program;            // "" = $HEADROOM_CELL, else headroom-cell beside this program
  double deadline_seconds = 0;    // killed after this long (status timeout); 0 = no deadline
  int64_t host_memory_bytes = 0;  // the run's host allocations are refused beyond it; 0 = no limit
  // In its place on a virtual card, whose host buffers are never touched: of a host as is asked
  // for.
  int64_t virtual_host_memory_bytes = 0;
  bool watches = false;                  // fills Record::watched
  std::vector<std::string> environment;  // "NAME=value", beside what every cell has
  const StopSignal* stop = nullptr;      // of a rank: raised where another one has failed
  RankChoice ranks;                      // of a cell with a mesh
  std::optional<PpoSetup> ppo;           // iterations of it in the place of the spec's own steps
  // One line of the cell's stderr, without the newline.
  std::function<void(const std::string& line)> on_talk;
  OnProgress on_progress;  // asked of the cell where it is set; these lines are no talk
  std::shared_ptr<WarmWorkers> workers;  // null: every cell gets a process of its own
  std::shared_ptr<ForkServers> forks;    // start such a process; null: it is exec'd
  KernelPaths kernel;                    // where the out-of-memory killer's counters are
};

// What of these a cell of the spec has: the limit on its host memory.
int64_t host_memory_of(const RunSpec& spec, const CellOptions& options);

// Runs one cell and waits for it. Always returns a Record:
//   the cell's own; or kKilled ("killed by signal 9 (SIGKILL)", and whether the kernel's
//   out-of-memory killer ran), kTimeout, or kFailed (exit code and the last line of stderr) when it
//   wrote none. Its environment holds "cell": {pid, seconds, max_rss_bytes, end_rss_bytes
//   (its own Record's only), host_memory_bytes, one_process, cells_before}.
// After SIGINT or SIGTERM (bench/process/interrupt.h) the cell is killed and the Record is kKilled
// with the reason "interrupted": not a result.
// A spec with a mesh is run by all its ranks: bench/launch/ranks.h.
Record run_cell(const RunSpec& spec, const CellOptions& options);

// The same by one process, a rank of the mesh where there is one; by a warm worker where
// options.workers has them and Note [Warm workers] allows it.
Record run_one(const RunSpec& spec, const CellOptions& options);

// The same for several cells in one process, in order; on_record gets each Record as it comes. It
// gets fewer than there are specs, and at least one, where the process ended before its time: run
// the rest again. Throws UsageError where they cannot share a process, and what on_record throws.
void run_cells(const std::vector<RunSpec>& specs, const CellOptions& options,
               const std::function<void(Record record)>& on_record);

// Whether they can: one virtual card (or none), one --alloc-conf. Throws UsageError.
void check_one_process(const std::vector<RunSpec>& specs);

// Throws UsageError with libtorch's own reason where its allocator does not take an --alloc-conf,
// or, where that is empty, what the environment says instead: libtorch reads it while it is loaded,
// and ends the process where it cannot.
void check_alloc_conf(const std::string& conf, const CellOptions& options);

// The same of each of these runs, and where one would record an allocator that libtorch does not
// record.
void check_alloc_confs(const std::vector<RunSpec>& specs, const CellOptions& options);

// The program that run_cell would start.
std::string cell_program(const CellOptions& options);

// {"build": "<git commit>[+dirty-<hash>]", "build_settings": "Release, GNU 12.2.0", "libtorch":
// "2.11.0", "devices": ["..."], "cpu": "..."}. Throws std::runtime_error with one line when the
// program is missing or does not answer.
nlohmann::json cell_identity(const CellOptions& options);
// The same, by the warm worker that will run `first` where it may: libtorch is loaded once less.
nlohmann::json cell_identity(const CellOptions& options, const RunSpec& first);

// Whether a warm worker may run it: Note [Warm workers].
bool may_be_served(const RunSpec& spec, const CellOptions& options);

}  // namespace headroom
