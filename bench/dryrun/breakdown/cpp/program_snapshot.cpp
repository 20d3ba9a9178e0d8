#include "bench/dryrun/breakdown/program_snapshot.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>

#include "profiling/snapshot/write.h"
#include "profiling/tracker/cuda_snapshot.h"

namespace headroom {
namespace {

constexpr size_t kMostEntries = 1000000;  // as in virtual_gpu/python_hook/headroom_dryrun.py

struct ProgramSnapshot {
  std::mutex mutex;
  std::string path;   // of the written file
  std::string error;  // of the last attempt
  std::atomic<bool> has_begun = false;
  std::atomic<bool> is_of_refusal = false;  // and nothing was allocated since then
  std::atomic<bool> is_over = false;        // the allocator is about to go
};
ProgramSnapshot& program_snapshot() {
  static auto* const own = new ProgramSnapshot;  // threads may outlive the process's end
  return *own;
}

const char* requested_path() { return std::getenv("HEADROOM_DRYRUN_SNAPSHOT"); }

// "run.pickle" as "run.123.pickle"; see snapshot_of_process() (bench/dryrun/dryrun.h).
std::string path_of_process(const std::string& file) {
  const size_t name = file.rfind('/') + 1;
  const size_t dot = file.rfind('.');
  const size_t end = dot == std::string::npos || dot <= name ? file.size() : dot;
  return file.substr(0, end) + "." + std::to_string(getpid()) + file.substr(end);
}

void write_program_snapshot() {
  ProgramSnapshot& own = program_snapshot();
  const std::scoped_lock lock(own.mutex);
  if (!c10::cuda::CUDACachingAllocator::isHistoryEnabled()) {
    own.error = "the program switched the allocator's recording off";
    return;
  }
  const std::string path = path_of_process(requested_path());
  try {
    write_snapshot(cuda_snapshot(kEveryDevice), path);
    own.path = path;
    own.error.clear();
  } catch (const std::exception& error) {
    own.error = error.what();
  }
}

void write_last_snapshot() {
  ProgramSnapshot& own = program_snapshot();
  if (!own.is_of_refusal) write_program_snapshot();
  own.is_over = true;
}

}  // namespace

bool wants_program_snapshot() { return requested_path() != nullptr; }

void begin_program_snapshot(const void* first_block) {
  using c10::cuda::CUDACachingAllocator::RecordContext;
  record_cuda_history(kMostEntries, RecordContext::ALLOC);
  note_early_block(reinterpret_cast<uintptr_t>(first_block));
  program_snapshot().has_begun = true;
  // Handlers run in reverse order: this one before the destructors of libc10_cuda.so, which
  // allocates here. The report of the process is written after them.
  std::atexit(write_last_snapshot);
}

void program_allocates() { program_snapshot().is_of_refusal = false; }

void write_snapshot_of_refusal() {
  write_program_snapshot();
  program_snapshot().is_of_refusal = true;
}

nlohmann::json finish_program_snapshot() {
  ProgramSnapshot& own = program_snapshot();
  if (own.has_begun && !own.is_over && !own.is_of_refusal) write_program_snapshot();
  const std::scoped_lock lock(own.mutex);
  return {{"snapshot", own.path}, {"snapshot_error", own.error}};
}

}  // namespace headroom
