// The end of a process, or its replacement by another program.
//
// Note [Endings]
// Rationale: the report must be written however the process ends, and only by that process.
// Approach: the machine stores the process that made it. A child of fork or vfork is another
//   process and does nothing here: vfork's runs in our memory, so its write would be ours. exit()
//   reaches a destructor of this library, quick_exit() a handler; _exit, _Exit, abort and the exec
//   family are defined here and call the real ones. A failed exec removes the report again.
//   Signals: Note [Ending signals]. From its first use of CUDA until it reports, a process has a
//   file <stem>.running (<stem>.ending once a signal ends it), which distinguishes a lost report
//   from one that was never due.
// Limits: a process that is killed, ends by a signal outside both Notes or makes the system call
//   directly leaves no report.
#pragma once

#include <string>

namespace virtual_gpu {

// Writes the state of libtorch's allocator, and the report. Does nothing in a process that has not
// used CUDA itself. A later call replaces the report.
void report_ending();

// Removes the report: the process continues.
void take_report_back();

// Writes the file that marks a report as still due.
void mark_running(const std::string& stem);
// Marks beside it that a signal ends the process.
void mark_ending();

}  // namespace virtual_gpu

// The stem of this process's reports: see Machine::report_stem(). "" if there are none.
extern "C" const char* virtual_gpu_report_stem();
