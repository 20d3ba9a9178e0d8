// A Python program that ends without destroying its process groups.
//
// Note [Groups that are left standing]
// Rationale: without destroy_process_group() ProcessGroupNCCL's watchdog thread may outlive main().
//   It checks CUDA calls while exit() destroys libtorch's static objects, one of which each check
//   reads, and aborts the process after its last line ("CUDA error: no error"). On a card the time
//   for that is short; in a dry run of many ranks on a busy machine it was seen several times.
// Approach: Python calls a function when it ends, before exit(). If a communicator is alive then,
//   the report is written and the process ends with its exit code at once.
// Limits: exit() handlers of C++ libraries do not run in such a program. A program without Python
//   ends as on a card.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "virtual_gpu/device/machine.h"
#include "virtual_gpu/nccl/communicator.h"

namespace virtual_gpu {
namespace {

bool leaves_groups() {
  if (!Machine::is_of_this_process()) return false;
  const auto all = communicators();
  return std::any_of(all.begin(), all.end(),
                     [](const ncclComm* comm) { return !comm->is_destroyed.load(); });
}

void end_with_groups(int code, void*) {
  if (!leaves_groups()) return;
  std::cout.flush();
  std::fflush(nullptr);
  _Exit(code);  // our own: it writes the report first
}

}  // namespace
}  // namespace virtual_gpu

// The last registered handler is called first.
extern "C" void virtual_gpu_python_ends() { on_exit(virtual_gpu::end_with_groups, nullptr); }
