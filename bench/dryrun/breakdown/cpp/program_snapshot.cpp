#include "bench/dryrun/breakdown/cpp/program_snapshot.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>

#include "bench/dryrun/process_snapshot.h"
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
  std::atomic<bool> is_over = false;        // the last one was written, or is that of the refusal
};
ProgramSnapshot& program_snapshot() {
  static auto* const own = new ProgramSnapshot;  // threads may outlive the process's end
  return *own;
}

const char* requested_path() { return std::getenv("HEADROOM_DRYRUN_SNAPSHOT"); }

void write_program_snapshot() {
  ProgramSnapshot& own = program_snapshot();
  const std::scoped_lock lock(own.mutex);
  if (!c10::cuda::CUDACachingAllocator::isHistoryEnabled()) {
    own.error = "the program switched the allocator's recording off";
    return;
  }
  const std::string path = snapshot_of_process(requested_path(), getpid());
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
  if (!own.is_over.exchange(true) && !own.is_of_refusal) write_program_snapshot();
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
  if (own.has_begun) write_last_snapshot();
  const std::scoped_lock lock(own.mutex);
  return {{"snapshot", own.path}, {"snapshot_error", own.error}};
}

}  // namespace headroom
