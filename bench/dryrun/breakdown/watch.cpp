// libheadroom_breakdown.so: the use of every block of libtorch's allocator. Loaded by the Python
// hook of `headroom dryrun --breakdown`, which calls the functions at the end of this file.
#include "bench/dryrun/breakdown/watch.h"

#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <dlfcn.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "bench/dryrun/breakdown/blocks.h"
#include "bench/dryrun/breakdown/context.h"
#include "bench/dryrun/breakdown/cpp/running_node.h"
#include "bench/dryrun/breakdown/ledger.h"
#include "bench/dryrun/breakdown/program_names.h"
#include "bench/dryrun/breakdown/python_place.h"
#include "bench/dryrun/breakdown/refusal.h"
#include "bench/dryrun/breakdown/rows_json.h"

namespace headroom {
namespace {

using c10::CachingDeviceAllocator::TraceEntry;

struct Ledgers {
  std::mutex mutex;  // taken under the allocator's lock; nothing is allocated on the card under it
  std::map<int, Ledger> devices;
  bool sees_modules = true;
  Ledger& of(int device) {
    return devices.try_emplace(device, is_call_over, sees_modules).first->second;
  }
};
Ledgers& ledgers() {
  static auto* const all = new Ledgers;  // threads may outlive the process's end
  return *all;
}

// The trace of an allocation comes just before its block, on the same thread.
struct Requested {
  uintptr_t address = 0;
  int64_t bytes = 0;
  bool in_pool = false;
};
thread_local Requested requested;

void on_trace(const TraceEntry& entry) {
  if (entry.action_ != TraceEntry::ALLOC) return;
  requested = {entry.addr_, static_cast<int64_t>(entry.size_),
               entry.mempool_.first != 0 || entry.mempool_.second != 0};
}

void on_block(int device, void* address, int64_t bytes, int64_t allocated, int64_t reserved) {
  const auto key = reinterpret_cast<uintptr_t>(address);
  const Moment now = moment();
  Origin from;
  int64_t wanted = bytes;
  if (bytes > 0) {
    from = origin();
    from.has_grad_mode = at::GradMode::is_enabled();
    if (requested.address == key) {
      wanted = requested.bytes;
      from.in_pool = requested.in_pool;
    }
    requested = {};
  }
  const std::scoped_lock lock(ledgers().mutex);
  Ledger& ledger = ledgers().of(device);
  if (bytes > 0) {
    ledger.allocate(key, bytes, wanted, from, now);
  } else {
    ledger.release(key, now);
  }
  ledger.set_totals(allocated, reserved, now);
}

void on_workspace(void* address) {
  const uint64_t pair[] = {reinterpret_cast<uintptr_t>(address), 0};
  tag(pair, 1, Category::kWorkspaces);
}

// The allocator asks for the circumstances of an allocation before it takes its lock.
template <bool kWithStack>
std::shared_ptr<c10::GatheredContext> before_allocation() {
  const PythonPlace place = python_place();
  set_place(place.number, place.hint);
  if constexpr (kWithStack) return torch::CapturedTraceback::gather(true, false, false);
  return nullptr;
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  push_operation(function.name(), function.scope() == at::RecordScope::BACKWARD_FUNCTION);
  return nullptr;
}
void end(const at::RecordFunction&, at::ObserverContext*) { pop_operation(); }

const char* kept(std::string text) {
  static auto* const last = new std::string;
  *last = std::move(text);
  return last->c_str();
}

using Listen = void(OnBlock, OnWorkspace);
Listen* find_listen() {
  return reinterpret_cast<Listen*>(dlsym(RTLD_DEFAULT, "headroom_on_blocks"));
}

void watch_operations(const std::unordered_set<at::RecordScope>& scopes) {
  at::addGlobalCallback(at::RecordFunctionCallback(begin, end).scopes(scopes));
}

OnProgramBlocks of_program;

// Before the first block the allocator has no devices to attach to.
bool attach_at(const void* first_block) {
  using namespace c10::cuda::CUDACachingAllocator;
  if (of_program.place != nullptr) attachAllocatorTraceTracker(on_trace);
  attachOutOfMemoryObserver([](int64_t of, size_t wanted, size_t /*total*/, size_t /*free*/) {
    of_program.refused(static_cast<int>(of), static_cast<int64_t>(wanted));
  });
  if (of_program.begins != nullptr) of_program.begins(first_block);
  return true;
}

void on_block_of_program(int device, void* address, int64_t bytes, int64_t allocated,
                         int64_t reserved) {
  static const bool is_attached = attach_at(address);
  if (!is_attached) return;
  if (bytes > 0 && of_program.allocates != nullptr) of_program.allocates();
  if (of_program.place == nullptr) return;
  if (bytes > 0) set_place(is_in_libtorchs_node() ? 0 : of_program.place(), Hint::kNone);
  on_block(device, address, bytes, allocated, reserved);
}

}  // namespace

void tag(const uint64_t* pairs, size_t count, Category purpose) {
  static const uint32_t several = number_of("(several modules)");
  const std::scoped_lock lock(ledgers().mutex);
  for (auto& [device, ledger] : ledgers().devices) {
    for (size_t i = 0; i < count; ++i) {
      ledger.tag(pairs[2 * i], purpose, static_cast<uint32_t>(pairs[2 * i + 1]), several);
    }
  }
}

bool name_block(uintptr_t address, Category purpose, uint32_t owner) {
  const std::scoped_lock lock(ledgers().mutex);
  bool is_known = false;
  for (auto& [device, ledger] : ledgers().devices) {
    if (ledger.name(address, purpose, owner)) is_known = true;
  }
  return is_known;
}

void end_step_of(uint32_t optimizer) {
  if (!end_optimizer()) return;
  const Moment now = moment();
  const std::scoped_lock lock(ledgers().mutex);
  for (auto& [device, ledger] : ledgers().devices) ledger.end_step(optimizer, now);
}

nlohmann::json finished_ledgers() {
  const std::scoped_lock lock(ledgers().mutex);
  auto all = nlohmann::json::array();
  for (auto& [device, ledger] : ledgers().devices) {
    ledger.finish(moment());
    all.push_back(ledger_json(device, ledger));
  }
  return all;
}

LiveMemory live_memory(int device, uint32_t place) {
  set_place(place, Hint::kNone);
  const Origin now = origin();
  const std::scoped_lock lock(ledgers().mutex);
  return {ledgers().of(device).now(moment()), text_of(now.operation), text_of(now.place)};
}

bool hear_blocks(const OnProgramBlocks& calls) {
  Listen* const listen = find_listen();
  if (listen == nullptr) return false;
  of_program = calls;
  ledgers().sees_modules = false;
  if (calls.place != nullptr) {
    // No callback for nodes: the engine would make the name of every one anew.
    watch_operations({at::RecordScope::FUNCTION});
    set_running_node(running_node);
  }
  listen(on_block_of_program, on_workspace);
  hear_names();
  return true;
}

}  // namespace headroom

using namespace headroom;

extern "C" {

// Once, after CUDA was started. snapshot_entries: of the recording for a snapshot; 0: there is
// none. Returns 0 if the allocator has no traces (cudaMallocAsync).
int headroom_breakdown_start(const char* torch_begins, const char* torch_parts,
                             const char* package_begins, const char* package_parts,
                             size_t snapshot_entries) {
  using namespace c10::cuda::CUDACachingAllocator;
  set_python_places({torch_begins, torch_parts, package_begins, package_parts});
  Listen* const listen = find_listen();
  if (listen == nullptr) return 0;
  try {
    attachAllocatorTraceTracker(on_trace);
    if (snapshot_entries > 0) {
      recordHistory(true, before_allocation<true>, snapshot_entries, RecordContext::ALLOC, false,
                    {});
    } else {
      recordHistory(true, before_allocation<false>, 1, RecordContext::STATE, false, {});
    }
  } catch (const std::exception&) {
    return 0;
  }
  watch_operations({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION});
  listen(on_block, on_workspace);
  hear_names();
  return 1;
}

uint32_t headroom_breakdown_name(const char* text) { return number_of(text); }
void headroom_breakdown_enter(uint32_t module) { enter_module(module); }
void headroom_breakdown_leave(uint32_t module) { leave_module(module); }
void headroom_breakdown_begin_backward() { begin_backward(python_place().number); }
void headroom_breakdown_end_backward() { end_backward(); }
void headroom_breakdown_begin_optimizer() { begin_optimizer(); }

// pairs: an address and the number of its owner, `count` times; purpose: a Category.
void headroom_breakdown_tag(const uint64_t* pairs, size_t count, int purpose) {
  tag(pairs, count, static_cast<Category>(purpose));
}

void headroom_breakdown_end_optimizer(uint32_t owner) { end_step_of(owner); }

// The instant at which memory ran out, as JSON; valid until the next call of this or of the next
// one.
const char* headroom_breakdown_refusal(int device, int64_t wanted) {
  return kept(json_text(refusal_json(device, wanted, live_memory(device, 0).instant)));
}

// The peak and the steps of all devices; nothing is recorded afterwards.
const char* headroom_breakdown_finish() {
  stop_python_places();
  return kept(json_text(finished_ledgers()));
}
}
