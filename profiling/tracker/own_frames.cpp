#include "profiling/tracker/own_frames.h"

#include <backtrace.h>
#include <link.h>

#include <map>
#include <string>

#include "profiling/tracker/symbol_table.h"

using PhdrCallback = int (*)(dl_phdr_info*, size_t, void*);

// The linker's names for the wrapped function and for its replacement.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" int __real_dl_iterate_phdr(PhdrCallback callback, void* data);
extern "C" int __wrap_dl_iterate_phdr(PhdrCallback callback, void* data);
// NOLINTEND(bugprone-reserved-identifier)

namespace {

// The only code that this thread sees of all that is loaded; null: it sees all.
thread_local const headroom::LoadedCode* only_code = nullptr;

struct WantedCode {
  PhdrCallback callback;
  void* data;
  uint64_t base;
  int result = 0;
};

int call_for_wanted(dl_phdr_info* code, size_t size, void* data) {
  auto* wanted = static_cast<WantedCode*>(data);
  if (code->dlpi_addr != wanted->base) return 0;
  dl_phdr_info as_program = *code;
  as_program.dlpi_name = "";  // libbacktrace then reads the file for which its state was made
  wanted->result = wanted->callback(&as_program, size, wanted->data);
  return 1;  // stop here
}

}  // namespace

// Called by libbacktrace and by all other code linked with it.
int __wrap_dl_iterate_phdr(PhdrCallback callback, void* data) {  // NOLINT
  if (only_code == nullptr) return __real_dl_iterate_phdr(callback, data);
  WantedCode wanted{callback, data, only_code->base};
  __real_dl_iterate_phdr(&call_for_wanted, &wanted);
  return wanted.result;
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

std::vector<std::vector<Frame>> own_frames_at(const LoadedCode& code,
                                              const std::vector<uint64_t>& addresses) {
  static auto* const states = new std::map<std::string, backtrace_state*>;
  only_code = &code;
  const auto [state, is_new] = states->try_emplace(code.path);
  if (is_new) {
    const char* const path = state->first.c_str();  // the state keeps the pointer
    state->second = backtrace_create_state(path, /*threaded=*/0, &ignore_error, nullptr);
  }
  std::vector<std::vector<Frame>> chains(addresses.size());
  for (size_t i = 0; state->second != nullptr && i < addresses.size(); ++i) {
    backtrace_pcinfo(state->second, addresses[i], &add_frame, &ignore_error, &chains[i]);
  }
  only_code = nullptr;
  return chains;
}

}  // namespace headroom
