#include "profiling/tracker/host_allocation_table.h"

#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "profiling/tracker/host_segments.h"
#include "text/quantity.h"
#include "train/offload/host_budget.h"
#include "train/settings/device/address_limit.h"

namespace headroom {
namespace {

uint64_t address_of(void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

[[noreturn]] void refuse(int64_t size, int64_t live, int64_t pinned, int64_t limit,
                         const std::function<void(const Refusal& refusal)>& listener) {
  if (listener) {
    listener(
        {.tried = size, .live = {live, live, live}, .free = limit - live - pinned, .total = limit});
  }
  C10_THROW_ERROR(OutOfMemoryError,
                  "host memory: tried to allocate " + format_bytes(size) + " with " +
                      format_bytes(live) + " live " +
                      (pinned > 0 ? "and " + format_bytes(pinned) + " pinned " : "") + "of " +
                      format_bytes(limit) + " allowed (--host-memory)");
}

void* of_the_host(size_t size, int64_t live) {
  try {
    return c10::alloc_cpu(size);
  } catch (const c10::Error&) {
    const std::string limit = address_limit_in_words();
    C10_THROW_ERROR(OutOfMemoryError, "host memory: tried to allocate " +
                                          format_bytes(static_cast<int64_t>(size)) + " with " +
                                          format_bytes(live) + " live, and the host refused" +
                                          (limit.empty() ? "" : ": " + limit));
  }
}

// The newest events, at most `max_entries`.
std::vector<TraceEvent> newest(const std::vector<TraceEvent>& events, int64_t max_entries) {
  const auto kept = std::min<int64_t>(std::ssize(events), max_entries);
  return {events.end() - kept, events.end()};
}

}  // namespace

HostAllocationTable& HostAllocationTable::instance() {
  static auto* table = new HostAllocationTable();
  return *table;
}

void* HostAllocationTable::allocate(size_t size) {
  const auto bytes = static_cast<int64_t>(size);
  std::unique_lock lock(mutex_);
  const int64_t live = live_bytes_;
  const HostBudget& budget = HostBudget::instance();
  const int64_t limit = budget.limit;
  if (!budget.lets(bytes)) {
    const int64_t pinned = budget.pinned;
    log_.add({TraceAction::kOom, static_cast<uint64_t>(limit - live - pinned), bytes});
    const auto listener = on_refusal_;
    lock.unlock();
    refuse(bytes, live, pinned, limit, listener);
  }
  void* pointer = of_the_host(size, live_bytes_);
  if (pointer == nullptr) return nullptr;
  try {
    enter(pointer, bytes);
  } catch (...) {
    c10::free_cpu(pointer);
    throw;
  }
  return pointer;
}

void HostAllocationTable::enter(void* pointer, int64_t size) {
  const bool recorded = log_.is_on();
  const bool with_stack = recorded && options_.stacks == Stacks::kCpp;
  const int32_t stack = with_stack ? stacks_.capture() : -1;
  const auto entry = live_.insert_or_assign(pointer, Live{size, stack}).first;
  try {
    if (recorded) log_.add({TraceAction::kAlloc, address_of(pointer), size, 0, 0, stack});
  } catch (...) {
    live_.erase(entry);
    throw;
  }
  live_bytes_ += size;
  HostBudget::instance().ordinary = live_bytes_;
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
}

void HostAllocationTable::release(void* pointer) noexcept {
  if (pointer == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    if (const auto entry = live_.find(pointer); entry != live_.end()) {
      live_bytes_ -= entry->second.size;
      HostBudget::instance().ordinary = live_bytes_;
      log_release(pointer, entry->second.size);
      live_.erase(entry);
    }
  }
  c10::free_cpu(pointer);
}

// A host release is immediate: requested and completed are one moment.
void HostAllocationTable::log_release(void* pointer, int64_t size) noexcept {
  try {
    log_.add({TraceAction::kFreeRequested, address_of(pointer), size});
    log_.add({TraceAction::kFreeCompleted, address_of(pointer), size});
  } catch (...) {
    lost_a_release_ = true;
  }
}

void HostAllocationTable::set_limit(int64_t bytes) { HostBudget::instance().limit = bytes; }

int64_t HostAllocationTable::live() const {
  const std::lock_guard lock(mutex_);
  return live_bytes_;
}

int64_t HostAllocationTable::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_bytes_;
}

void HostAllocationTable::reset_peak() {
  const std::lock_guard lock(mutex_);
  peak_bytes_ = live_bytes_;
}

void HostAllocationTable::on_refusal(std::function<void(const Refusal& refusal)> listener) {
  const std::lock_guard lock(mutex_);
  on_refusal_ = std::move(listener);
}

void HostAllocationTable::start(const RecordingOptions& options) {
  const std::lock_guard lock(mutex_);
  options_ = options;
  stacks_ = {};
  lost_a_release_ = false;
  std::vector<LiveBlock> live_at_start;
  for (auto& [pointer, block] : live_) {
    block.stack = -1;
    live_at_start.push_back({address_of(pointer), block.size});
  }
  log_.start(std::move(live_at_start));
}

Recording HostAllocationTable::stop(Snapshot* snapshot, bool* truncated) {
  Recording recording;
  StackTable stacks;
  std::vector<Block> live;
  int64_t max_entries = 0;
  {
    const std::lock_guard lock(mutex_);
    recording = log_.stop();
    stacks = std::exchange(stacks_, {});
    max_entries = options_.max_entries;
    *truncated = lost_a_release_ || std::ssize(recording.events) > max_entries;
    if (snapshot != nullptr) live = live_blocks();
  }
  if (snapshot == nullptr) return recording;
  const auto& trace = snapshot->device_traces.emplace_back(newest(recording.events, max_entries));
  snapshot->segments = host_segments(std::move(live), trace);
  annotate(*snapshot, recording.marks, 0);
  stacks.symbolize_into(*snapshot);
  return recording;
}

std::vector<Block> HostAllocationTable::live_blocks() const {
  std::vector<Block> blocks;
  for (const auto& [pointer, block] : live_) {
    blocks.push_back({.address = address_of(pointer),
                      .size = block.size,
                      .requested_size = block.size,
                      .stack = block.stack});
  }
  return blocks;
}

}  // namespace headroom
