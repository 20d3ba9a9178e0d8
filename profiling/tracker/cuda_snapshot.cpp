#include "profiling/tracker/cuda_snapshot.h"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "profiling/tracker/stacks.h"

namespace headroom {
namespace {

namespace cuda = c10::cuda::CUDACachingAllocator;
using DeviceTraceEntry = c10::CachingDeviceAllocator::TraceEntry;
using cuda::RecordContext;

struct StackContext final : c10::GatheredContext {
  explicit StackContext(int32_t id) : id(id) {}
  int32_t id;
};

struct CudaStacks {
  std::mutex mutex;  // any thread captures contexts, outside of the allocator's lock
  StackTable table;
  // The stack of each segment, by address: the allocator forgets it once the first block is split.
  std::unordered_map<uint64_t, int32_t> segments;
  uint64_t early_block = 0;  // see note_early_block()
  int32_t early_stack = -1;
};

CudaStacks& cuda_stacks() {
  static auto* stacks = new CudaStacks();
  return *stacks;
}

std::shared_ptr<c10::GatheredContext> capture_context() {
  CudaStacks& stacks = cuda_stacks();
  const std::lock_guard lock(stacks.mutex);
  return std::make_shared<StackContext>(stacks.table.capture());
}

int32_t stack_of(const std::shared_ptr<c10::GatheredContext>& context) {
  const auto* ours = dynamic_cast<const StackContext*>(context.get());
  return ours == nullptr ? -1 : ours->id;
}

int32_t stack_of_block(const c10::CachingDeviceAllocator::BlockInfo& block, uint64_t address) {
  const int32_t stack = stack_of(block.context_when_allocated);
  const CudaStacks& stacks = cuda_stacks();
  return stack < 0 && block.active && address == stacks.early_block ? stacks.early_stack : stack;
}

void note_segment(const DeviceTraceEntry& entry) {
  const bool is_new = entry.action_ == DeviceTraceEntry::SEGMENT_ALLOC ||
                      entry.action_ == DeviceTraceEntry::SEGMENT_MAP;
  if (!is_new && entry.action_ != DeviceTraceEntry::SEGMENT_FREE) return;
  const std::lock_guard lock(cuda_stacks().mutex);
  if (is_new) {
    cuda_stacks().segments[entry.addr_] = stack_of(entry.context_);
  } else {
    cuda_stacks().segments.erase(entry.addr_);
  }
}

// The allocator calls back under its own lock, and a callback cannot be detached.
void note_segments() {
  static std::once_flag attached;
  std::call_once(attached, [] { cuda::attachAllocatorTraceTracker(note_segment); });
}

int32_t maker_of_segment(const c10::CachingDeviceAllocator::SegmentInfo& info) {
  const int32_t stack = stack_of(info.context_when_allocated);
  if (stack >= 0) return stack;
  const std::lock_guard lock(cuda_stacks().mutex);
  const auto noted = cuda_stacks().segments.find(info.address);
  return noted == cuda_stacks().segments.end() ? -1 : noted->second;
}

uint64_t stream_id(void* stream) { return reinterpret_cast<uint64_t>(stream); }

Segment segment_of(const c10::CachingDeviceAllocator::SegmentInfo& info) {
  Segment segment{.device = info.device,
                  .address = info.address,
                  .total_size = static_cast<int64_t>(info.total_size),
                  .allocated_size = static_cast<int64_t>(info.allocated_size),
                  .active_size = static_cast<int64_t>(info.active_size),
                  .requested_size = static_cast<int64_t>(info.requested_size),
                  .stream = stream_id(info.stream),
                  .is_large = info.is_large,
                  .is_expandable = info.is_expandable,
                  .stack = maker_of_segment(info)};
  segment.pool_id[0] = static_cast<int64_t>(info.owner_private_pool_id.first);
  segment.pool_id[1] = static_cast<int64_t>(info.owner_private_pool_id.second);
  uint64_t address = segment.address;
  for (const auto& block : info.blocks) {
    const BlockState state = block.allocated ? BlockState::kActiveAllocated
                             : block.active  ? BlockState::kActivePendingFree
                                             : BlockState::kInactive;
    segment.blocks.push_back({.address = address,
                              .size = static_cast<int64_t>(block.size),
                              .requested_size = static_cast<int64_t>(block.requested_size),
                              .state = state,
                              .stack = stack_of_block(block, address)});
    address += block.size;
  }
  return segment;
}

AllocatorSettings settings_of(const cuda::AllocatorConfigInfo& info) {
  AllocatorSettings settings{
      .alloc_conf = info.last_allocator_settings,
      .max_split_size = static_cast<int64_t>(info.max_split_size),
      .garbage_collection_threshold = info.garbage_collection_threshold,
      .expandable_segments = info.expandable_segments,
      .pinned_num_register_threads = static_cast<int64_t>(info.pinned_num_register_threads),
      .release_lock_on_cudamalloc = info.release_lock_on_malloc,
      .pinned_use_cuda_host_register = info.pinned_use_host_register,
      .graph_capture_record_stream_reuse = info.graph_capture_record_stream_reuse};
  settings.roundup_power2_divisions.assign(info.roundup_power2_divisions.begin(),
                                           info.roundup_power2_divisions.end());
  return settings;
}

}  // namespace

TraceAction action_of(DeviceTraceEntry::Action action) {
  switch (action) {
    case DeviceTraceEntry::ALLOC:
      return TraceAction::kAlloc;
    case DeviceTraceEntry::FREE_REQUESTED:
      return TraceAction::kFreeRequested;
    case DeviceTraceEntry::FREE_COMPLETED:
      return TraceAction::kFreeCompleted;
    case DeviceTraceEntry::SEGMENT_ALLOC:
      return TraceAction::kSegmentAlloc;
    case DeviceTraceEntry::SEGMENT_FREE:
      return TraceAction::kSegmentFree;
    case DeviceTraceEntry::SEGMENT_MAP:
      return TraceAction::kSegmentMap;
    case DeviceTraceEntry::SEGMENT_UNMAP:
      return TraceAction::kSegmentUnmap;
    case DeviceTraceEntry::SNAPSHOT:
      return TraceAction::kSnapshot;
    default:  // OOM; newer versions have annotations of the program's, and ours makes none
      break;
  }
  return TraceAction::kOom;
}

void record_cuda_history(size_t max_entries, RecordContext contexts) {
  const bool has_stacks = contexts != RecordContext::NEVER;
  cuda::recordHistory(true, has_stacks ? &capture_context : nullptr, max_entries, contexts,
                      /*clearHistory=*/true, /*skip_actions=*/{});
  note_segments();
}

void end_cuda_history() {
  cuda::recordHistory(false, nullptr, 1, RecordContext::NEVER, /*clearHistory=*/true, {});
}

void note_early_block(uint64_t address) {
  CudaStacks& stacks = cuda_stacks();
  const std::lock_guard lock(stacks.mutex);
  stacks.early_block = address;
  stacks.early_stack = stacks.segments[address] = stacks.table.capture();
}

Snapshot cuda_snapshot(int device) {
  Snapshot snapshot;
  const cuda::SnapshotInfo info = cuda::snapshot();
  for (const auto& segment : info.segments) {
    if (device == kEveryDevice || segment.device == device)
      snapshot.segments.push_back(segment_of(segment));
  }
  for (const auto& device_trace : info.device_traces) {
    auto& trace = snapshot.device_traces.emplace_back();
    for (const auto& entry : device_trace) {
      trace.push_back({.action = action_of(entry.action_),
                       .address = entry.addr_,
                       .size = static_cast<int64_t>(entry.size_),
                       .stream = stream_id(entry.stream_),
                       .time_us = static_cast<int64_t>(entry.time_.t_),  // in microseconds
                       .stack = stack_of(entry.context_)});
    }
  }
  snapshot.settings = settings_of(info.config_metadata);
  const std::lock_guard lock(cuda_stacks().mutex);
  cuda_stacks().table.symbolize_into(snapshot);
  return snapshot;
}

}  // namespace headroom
