#include "profiling/tracker/own_frames.h"

#include <backtrace.h>
#include <link.h>

#include "profiling/tracker/symbol_table.h"

using PhdrCallback = int (*)(dl_phdr_info*, size_t, void*);

// The linker's names for the wrapped function and for its replacement.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" int __real_dl_iterate_phdr(PhdrCallback callback, void* data);
extern "C" int __wrap_dl_iterate_phdr(PhdrCallback callback, void* data);
// NOLINTEND(bugprone-reserved-identifier)

namespace {

// True while this thread sees only the program of all loaded code.
thread_local bool sees_program_only = false;

struct FirstOnly {
  PhdrCallback callback;
  void* data;
  int result = 0;
};

int call_once(dl_phdr_info* program, size_t size, void* data) {
  auto* first = static_cast<FirstOnly*>(data);
  first->result = first->callback(program, size, first->data);
  return 1;  // stop here
}

}  // namespace

// Called by libbacktrace and by all other code linked into the program.
int __wrap_dl_iterate_phdr(PhdrCallback callback, void* data) {  // NOLINT
  if (!sees_program_only) return __real_dl_iterate_phdr(callback, data);
  FirstOnly first{callback, data};
  __real_dl_iterate_phdr(&call_once, &first);
  return first.result;
}

namespace headroom {
namespace {

// Without debug information there are no frames. No message is needed.
void ignore_error(void* /*data*/, const char* /*message*/, int /*errno*/) {}

int add_frame(void* data, uintptr_t /*counter*/, const char* file, int line, const char* function) {
  if (file == nullptr) return 0;
  static_cast<std::vector<Frame>*>(data)->push_back(
      {function == nullptr ? "" : demangled(function), file, line});
  return 0;
}

}  // namespace

std::vector<std::vector<Frame>> own_frames_at(const std::vector<uint64_t>& addresses) {
  sees_program_only = true;
  static backtrace_state* const state =
      backtrace_create_state("/proc/self/exe", /*threaded=*/0, &ignore_error, nullptr);
  std::vector<std::vector<Frame>> chains(addresses.size());
  for (size_t i = 0; state != nullptr && i < addresses.size(); ++i) {
    backtrace_pcinfo(state, addresses[i], &add_frame, &ignore_error, &chains[i]);
  }
  sees_program_only = false;
  return chains;
}

}  // namespace headroom
