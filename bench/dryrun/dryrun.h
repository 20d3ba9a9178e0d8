// Runs a user's program on virtual cards. No torch here.
//
// Note [Dry runs]
// Rationale: any program that uses CUDA through libtorch runs under the stand-in (virtual_gpu/); it
//   needs an environment, and a collector of its processes' reports.
// Approach: the program shares our stdin, stdout, stderr and process group, so ^C, pipes and
//   terminals work as usual. Every process that it starts inherits the environment and, if it used
//   CUDA, leaves two files in our folder: the requests to the card (from the stand-in) and the
//   live memory of libtorch's allocator (from a hook in Python, an observer in C++). A program
//   that replaces another in a process (exec) leaves two more.
//   A process that used CUDA and has not reported yet leaves a mark instead. A process ended by a
//   signal writes its files first (virtual_gpu/report/ending_signal.h), so after a signal we wait
//   for live processes with a mark.
// Limits: a killed process leaves its mark, or only the hook's file. Processes with an emptied
//   environment, and static programs, are not observed.
#pragma once

#include <string>
#include <vector>

#include "bench/dryrun/signals.h"
#include "bench/dryrun/values/value.h"
#include "bench/launch/ranks/distinct.h"
#include "bench/process/virtual_card.h"

namespace headroom {

// The completion of work on the card: at once, when the host waits for it (Note [Late events]), or
// two runs, one with each.
enum class Events { kDone, kLate, kBoth };

inline constexpr int64_t kCardsOfNode = 8;  // of a large job, unless given

struct DryRun {
  VirtualCard card;
  int count = 1;
  std::string alloc_conf;     // PYTORCH_CUDA_ALLOC_CONF; "" = the environment's
  std::vector<Value> values;  // given for reads at some lines
  std::string route;          // "balanced", "worst" or a seed: Note [Routing]; "" = none
  std::string snapshot;       // path of a memory_viz snapshot; "" = none
  bool breakdown = false;     // the use of memory: Note [Breakdown]
  Events events = Events::kDone;
  bool skip_host_init = false;  // large weights are not drawn on the host (Python)
  // The ranks to run of a job of `world_size`, each alone; 0 = the program is started unchanged.
  int64_t world_size = 0;
  std::vector<int64_t> ranks;
  bool distinct = false;           // runs the job's ranks that differ: Note [Distinct ranks]
  std::vector<std::string> words;  // the program and its arguments
};

// The reports of one program in one process, as JSON texts; "" = none.
struct ProcessReport {
  std::string stand_in;   // requests to the cards
  std::string allocator;  // live memory of libtorch's allocator
};

// A process that used CUDA and left no report.
struct Unreported {
  int64_t pid = 0;
  int64_t rank = -1;  // -1: not a rank
  bool is_running = false;
};

struct DryRunOutcome {
  int exit_code = -1;  // -1 if a signal ended it
  int signal = 0;
  int asked_by = 0;  // a signal to us during the run, whatever its effect on the program; 0 = none
  double seconds = 0;
  int64_t host_kills = 0;              // processes killed by the kernel for lack of host memory
  std::vector<ProcessReport> reports;  // those of one process in the order of its programs
  std::vector<Unreported> unreported;
  std::string lost_reports;     // reason for missing or truncated reports of any run; "" = none
  std::vector<RankKind> kinds;  // with `distinct`: the ranks that each run rank represents
};

// Blocks until the program ended; for Events::kBoth, does the run with events done at once.
// `signals`: held until the caller is done. Throws UsageError and std::runtime_error, one line,
// before anything ran: see bench/dryrun/program.h; no writable folder; the stand-in is not built.
DryRunOutcome run_dry(const DryRun& request, const HeldSignals& signals);

}  // namespace headroom
