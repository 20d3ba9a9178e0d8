// A program that is not ours, run on virtual cards. No torch here.
//
// Note [Dry runs]
// Rationale: any program that uses CUDA through libtorch runs under the stand-in (virtual_gpu/);
//   what it needs is an environment, and somebody who collects what its processes report.
// Approach: the program runs with our stdin, stdout and stderr and in our process group, so ^C, a
//   pipe and a terminal are as without us. Every process that it starts inherits the environment
//   and, when it used CUDA, leaves two files in a folder of ours: what the card was asked for (the
//   stand-in) and what libtorch's allocator had live (a hook in Python, an observer in C++). A
//   program that takes another's place in a process (exec) leaves two more.
//   A process that used CUDA and has yet to report leaves a mark instead. Who is ended by a signal
//   writes its files first (virtual_gpu/report/ending_signal.h), so after a signal we wait for
//   those that have a mark and live.
// Limits: a process that is killed leaves its mark, or only the hook's file. A program that empties
//   its environment or starts a static one has processes we do not see.
#pragma once

#include <string>
#include <vector>

#include "bench/dryrun/signals.h"
#include "bench/dryrun/values/value.h"
#include "bench/launch/distinct.h"
#include "bench/process/virtual_card.h"

namespace headroom {

// When work on the card is done: at once, when the host waits for it (Note [Late events]), or one
// run after the other with each.
enum class Events { kDone, kLate, kBoth };

struct DryRun {
  VirtualCard card;
  int count = 1;
  std::string alloc_conf;     // PYTORCH_CUDA_ALLOC_CONF; "" = the environment's
  std::vector<Value> values;  // what it reads at some lines
  std::string snapshot;       // where a memory_viz snapshot goes; "" = none is taken
  Events events = Events::kDone;
  bool skip_host_init = false;  // large weights are not drawn on the host (Python)
  // Of a job of `world_size` ranks these run, each alone; 0 = the program is started as it is.
  int64_t world_size = 0;
  std::vector<int64_t> ranks;
  bool distinct = false;           // of all its ranks those that differ: Note [Distinct ranks]
  std::vector<std::string> words;  // the program and its arguments
};

// What one program in one process left, as JSON texts; "" where there is none.
struct ProcessReport {
  std::string stand_in;   // what it asked of the cards
  std::string allocator;  // what libtorch's allocator had live
};

// A process that used CUDA and left no report.
struct Unreported {
  int64_t pid = 0;
  int64_t rank = -1;  // -1: it is none
  bool is_running = false;
};

struct DryRunOutcome {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;
  int asked_by = 0;  // a signal that came for us while it ran, whatever it made of it; 0 = none
  double seconds = 0;
  int64_t host_kills = 0;  // processes that the kernel killed meanwhile for want of host memory
  std::vector<ProcessReport> reports;  // of one process in the order of its programs
  std::vector<Unreported> unreported;
  std::string lost_reports;     // why some are missing or cut off, of all runs; "" = none is
  std::vector<RankKind> kinds;  // of `distinct`: who stands for whom
};

// Blocks until the program ended; of Events::kBoth the run with events that are done at once.
// `signals`: held until the caller is done. Throws UsageError and
// std::runtime_error, one line, before anything ran: see bench/dryrun/program.h; no folder to write
// in; the stand-in is not built.
DryRunOutcome run_dry(const DryRun& request, const HeldSignals& signals);

// FILE of one process; with several each has its own: FILE with ".<pid>" before the extension.
std::string snapshot_of_process(const std::string& file, int64_t pid);

}  // namespace headroom
