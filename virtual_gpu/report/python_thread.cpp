// Threads that Python would end.
//
// Note [Threads of a Python that ends]
// Rationale: CPython up to 3.13 ends a thread of libtorch (autograd's, or ProcessGroupNCCL's
//   watchdog) that requests Python's lock while Python ends, with pthread_exit(). That unwinds C++
//   frames that are noexcept, so the process aborts after its last line: in about one run in ten of
//   an FSDP program on a busy machine. A dry run often runs on one.
// Approach: such a thread waits for the end of the process, as it does from CPython 3.14 on
//   (https://github.com/python/cpython/issues/87135).
// Limits: joining such a thread waits for ever. CPython 3.14 accepts that too.
#include <dlfcn.h>
#include <unistd.h>

#include "virtual_gpu/report/libc_function.h"

namespace {

bool is_python_ending() {
  using Question = int (*)();
  auto* is_running = reinterpret_cast<Question>(dlsym(RTLD_DEFAULT, "Py_IsInitialized"));
  if (is_running == nullptr) return false;  // no Python
  if (is_running() == 0) return true;
  for (const char* name : {"Py_IsFinalizing", "_Py_IsFinalizing"}) {  // from 3.13 on, before
    if (auto* is_ending = reinterpret_cast<Question>(dlsym(RTLD_DEFAULT, name))) {
      return is_ending() != 0;
    }
  }
  return false;
}

}  // namespace

extern "C" [[noreturn]] void pthread_exit(void* value) {
  if (is_python_ending()) {
    for (;;) pause();
  }
  virtual_gpu::LibcFunction<void, void*>("pthread_exit")(value);
  for (;;) pause();
}
