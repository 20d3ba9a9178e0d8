// How a process ends, or gives its place to another program.
//
// Note [Endings]
// Rationale: a report that is written when the process ends must be written whichever way it ends,
//   and by that process alone.
// Approach: the machine knows which process made it. A child of fork or vfork is another one and
//   does nothing here: vfork's runs in our memory, and a write of its would be ours. exit() is a
//   destructor of this library, quick_exit() a handler; _exit, _Exit, abort and the exec family are
//   defined here and call the real ones. An exec that fails takes the report back. Signals: Note
//   [Ending signals]. From its first use of CUDA until it reports a process has a file
//   <stem>.running (<stem>.ending once a signal ends it), which tells one that left no report from
//   one that had none to leave.
// Limits: a process that is killed, ends by a signal that neither Note names or calls the kernel by
//   itself leaves no report.
#pragma once

#include <string>

namespace virtual_gpu {

// Writes what libtorch's allocator knows, and the report. Nothing, in a process that has not used
// CUDA itself. The last call's report stands.
void report_ending();

// The process goes on after all.
void take_report_back();

// The file that says that this process has yet to report.
void mark_running(const std::string& stem);
// Says beside it that a signal ends the process.
void mark_ending();

}  // namespace virtual_gpu

// Where the reports of this process go: see Machine::report_stem(). "" when there are none.
extern "C" const char* virtual_gpu_report_stem();
