// Runs one RunSpec in a separate process, from the parent's side. No torch here: the parent never
// loads libtorch and never uses CUDA, so no state of one run can reach the next.
//
// Note [The cell program]
// Rationale: an out-of-memory, a crash or a poisoned CUDA context must lose one row, not the sweep.
// Approach: `headroom-cell` (bench/cell/cell_main.cpp) links libtorch; the only other program that
//   does is headroom_bench, which times steps in its own process. It reads one JSON object
//   {"spec": {...}, "host_memory_bytes": N, "progress": true} per line on stdin
//   (bench/launch/request.h), writes exactly one Record as one JSON line on stdout for each,
//   messages on stderr, and exits 0 if it wrote a Record, whatever the Record's status.
//   `headroom-cell --identity` prints its identity, as JSON (cell_identity below). Its main()
//   begins with die_with_parent() (bench/process/child_process.h). spec.alloc_conf is already in
//   its environment as PYTORCH_CUDA_ALLOC_CONF, set before libtorch's allocator reads it.
// Limits: a new process needs half a second to load libtorch; Note [Warm workers] and
//   Note [Cells by fork] avoid that.
//
// Note [Cells in one process]
// Rationale: most published tables come from a program that runs its configurations in a loop. The
//   memory kept by such a process (the cuBLAS workspaces of surviving threads, 8 MiB each) is part
//   of the next configuration's peak.
// Approach: --one-process gives one headroom-cell all requests. Before each cell the previous
//   cell's cached memory is released to the card and the peaks are reset, as gc.collect(),
//   torch.cuda.empty_cache() and torch.cuda.reset_peak_memory_stats() do; cuBLAS workspaces stay,
//   as they do there. After an out-of-memory the process stays usable. A crash ends the process,
//   and so does any other failure, because a CUDA error may have damaged it: the other cells run
//   in a fresh process. Each Record has the number of cells that ran before it in its process.
// Limits: all cells share the process's virtual card and allocator settings. A row reaches the
//   disk after the parent has read it, while the next cell already runs.
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

// The ranks of a mesh to run: all together, or some of them, each alone.
struct RankChoice {
  enum class Kind {
    kAll,
    kListed,    // these
    kDistinct,  // one of each kind: Note [Distinct ranks]
  };
  Kind kind = Kind::kAll;
  std::vector<int64_t> ranks;  // of kListed
};

// The reason of a killed rank that had not failed.
inline constexpr const char* kStoppedForAnother = "stopped: another rank had failed";

struct CellOptions {
  std::string program;            // "" = $HEADROOM_CELL or headroom-cell beside this program
  double deadline_seconds = 0;    // killed after this time (status timeout); 0 = no deadline
  int64_t host_memory_bytes = 0;  // the run's host allocations are refused beyond it; 0 = no limit
  // Replaces it on a virtual card, whose host buffers are never touched: the simulated host's
  // memory.
  int64_t virtual_host_memory_bytes = 0;
  bool watches = false;                  // fills Record::watched
  std::vector<std::string> environment;  // "NAME=value", added to every cell's
  const StopSignal* stop = nullptr;      // for a rank: raised when another one failed
  RankChoice ranks;                      // for a cell with a mesh
  std::optional<PpoSetup> ppo;           // runs its iterations instead of the spec's own steps
  // One line of the cell's stderr, without the newline.
  std::function<void(const std::string& line)> on_talk;
  OnProgress on_progress;  // if set, the cell reports progress; these lines do not go to on_talk
  std::shared_ptr<WarmWorkers> workers;  // null: every cell gets its own process
  std::shared_ptr<ForkServers> forks;    // start such a process; null: it is exec'd
  KernelPaths kernel;                    // paths of the out-of-memory killer's counters
};

// The host memory limit of these options for a cell of the spec.
int64_t host_memory_of(const RunSpec& spec, const CellOptions& options);

// Runs one cell and waits for it. Always returns a Record:
//   the cell's own; or kKilled ("killed by signal 9 (SIGKILL)", and whether the kernel's
//   out-of-memory killer ran), kTimeout, or kFailed (exit code and the last line of stderr) if it
//   wrote none. Its environment holds "cell": {pid, seconds, max_rss_bytes, end_rss_bytes
//   (only in the cell's own Record), host_memory_bytes, one_process, cells_before}.
// After SIGINT or SIGTERM (bench/process/interrupt.h) the cell is killed and the Record is kKilled
// with the reason "interrupted": not a result.
// A spec with a mesh is run by all its ranks: bench/launch/ranks/ranks.h.
Record run_cell(const RunSpec& spec, const CellOptions& options);

// The same in one process: with a mesh, one of its ranks. Uses a warm worker if options.workers is
// set and Note [Warm workers] allows it.
Record run_one(const RunSpec& spec, const CellOptions& options);

// The same for several cells in one process, in order; on_record gets each Record as it arrives. It
// gets at least one, but not all, if the process ended early: run the rest again. Throws UsageError
// if they cannot share a process, and the exceptions of on_record.
void run_cells(const std::vector<RunSpec>& specs, const CellOptions& options,
               const std::function<void(Record record)>& on_record);

// Throws UsageError unless they can: one virtual card (or none), one --alloc-conf, no mesh.
void check_one_process(const std::vector<RunSpec>& specs);

// Throws UsageError with libtorch's own reason if its allocator refuses an --alloc-conf or, if that
// is empty, the environment's setting: libtorch reads it while it is loaded, and ends the process
// if it cannot.
void check_alloc_conf(const std::string& conf, const CellOptions& options);

// The same for each of these runs; also refuses to record an allocator without libtorch's records.
void check_alloc_confs(const std::vector<RunSpec>& specs, const CellOptions& options);

// The program that run_cell starts.
std::string cell_program(const CellOptions& options);

// {"build": "<git commit>[+dirty-<hash>]", "build_settings": "Release, GNU 12.2.0", "libtorch":
// "2.11.0", "devices": ["..."], "cpu": "..."}. Throws std::runtime_error with one line if the
// program is missing or does not answer. environment: for changed_environment().
nlohmann::json cell_identity(const CellOptions& options,
                             const std::vector<std::string>& environment = {});
// The same, by the warm worker that will run `first` where it may: libtorch is loaded once less.
nlohmann::json cell_identity(const CellOptions& options, const RunSpec& first);

// True if a warm worker may run the cell: Note [Warm workers].
bool may_be_served(const RunSpec& spec, const CellOptions& options);

}  // namespace headroom
