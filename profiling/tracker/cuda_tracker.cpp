// libtorch's CUDA caching allocator, read through its own statistics, trace and snapshot.
#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "profiling/tracker/event_log.h"
#include "profiling/tracker/memory_tracker.h"
#include "profiling/tracker/stacks.h"

namespace headroom {
namespace {

namespace cuda = c10::cuda::CUDACachingAllocator;
using DeviceTraceEntry = c10::CachingDeviceAllocator::TraceEntry;
using StatType = c10::CachingAllocator::StatType;
using cuda::RecordContext;

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

EventLog& cuda_log() {
  static auto* log = new EventLog();
  return *log;
}

// Note [Stacks of our own]
// Rationale: libtorch's recorder captures the same program counters, but returns only names, from
//   an addr2line that it starts for every library. That takes seconds if it runs, and throws if it
//   does not. And it names one function of an inlined chain.
// Approach: the allocator accepts any context for an allocation. Ours is the number of a stack in
//   one table of the process, which lives as long as blocks may refer to it.
// Limits: no frames of Python or TorchScript; our programs have none.
struct StackContext final : c10::GatheredContext {
  explicit StackContext(int32_t id) : id(id) {}
  int32_t id;
};

struct CudaStacks {
  std::mutex mutex;  // any thread captures contexts, outside of the allocator's lock
  StackTable table;
  // The stack of each segment, by address: the allocator forgets it once the first block is split.
  std::unordered_map<uint64_t, int32_t> segments;
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

// The allocator calls back under its own lock, on any allocating thread, and a callback cannot be
// detached: one log per process, switched on and off.
void listen_to(int device) {
  static std::atomic<int> heard_device;
  static std::once_flag attached;
  heard_device = device;
  std::call_once(attached, [] {
    cuda::attachAllocatorTraceTracker([](const DeviceTraceEntry& entry) {
      if (entry.device_ != heard_device || entry.action_ == DeviceTraceEntry::SNAPSHOT) return;
      note_segment(entry);
      cuda_log().add({.action = action_of(entry.action_),
                      .address = entry.addr_,
                      .size = static_cast<int64_t>(entry.size_)});
    });
  });
}

int32_t maker_of_segment(const c10::CachingDeviceAllocator::SegmentInfo& info) {
  const int32_t stack = stack_of(info.context_when_allocated);
  if (stack >= 0) return stack;
  const std::lock_guard lock(cuda_stacks().mutex);
  const auto noted = cuda_stacks().segments.find(info.address);
  return noted == cuda_stacks().segments.end() ? -1 : noted->second;
}

MemoryBytes current_bytes(c10::DeviceIndex device) {
  const auto stats = cuda::getDeviceStats(device);
  constexpr auto kAll = static_cast<size_t>(StatType::AGGREGATE);
  return {stats.allocated_bytes[kAll].current, stats.reserved_bytes[kAll].current,
          stats.requested_bytes[kAll].current};
}

// The allocator calls it without its lock, on the requesting thread. It cannot be detached either:
// one per process, for the tracker that listens.
class RefusalObserver {
 public:
  using Listener = std::function<void(const Refusal& refusal)>;

  static RefusalObserver& instance() {
    static auto* observer = new RefusalObserver();
    return *observer;
  }
  void set(int device, Listener listener) {
    const std::lock_guard lock(mutex_);
    device_ = device;
    listener_ = std::move(listener);
  }

 private:
  RefusalObserver() {
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);  // creates the allocator
    if (cuda::name() != "native") return;                       // cudaMallocAsync has no observers
    cuda::attachOutOfMemoryObserver(
        [this](int64_t device, size_t tried, size_t total, size_t free) {
          Listener listener;
          {
            const std::lock_guard lock(mutex_);
            if (device == device_) listener = listener_;
          }
          if (!listener) return;
          listener({.tried = static_cast<int64_t>(tried),
                    .live = current_bytes(static_cast<c10::DeviceIndex>(device)),
                    .free = static_cast<int64_t>(free),
                    .total = static_cast<int64_t>(total)});
        });
  }

  std::mutex mutex_;
  int device_ = -1;
  Listener listener_;
};

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
                              .stack = stack_of(block.context_when_allocated)});
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

class CudaTracker final : public MemoryTracker {
 public:
  explicit CudaTracker(int device) : device_(static_cast<c10::DeviceIndex>(device)) {}
  ~CudaTracker() override {
    if (listens_) RefusalObserver::instance().set(-1, nullptr);
  }
  CudaTracker(const CudaTracker&) = delete;
  CudaTracker& operator=(const CudaTracker&) = delete;

  MemoryBytes current() const override { return current_bytes(device_); }
  MemoryBytes peak() const override {
    const auto stats = cuda::getDeviceStats(device_);
    constexpr auto kAll = static_cast<size_t>(StatType::AGGREGATE);
    return {stats.allocated_bytes[kAll].peak, stats.reserved_bytes[kAll].peak,
            stats.requested_bytes[kAll].peak};
  }
  void reset_peak() override { cuda::resetPeakStats(device_); }
  void release_cached() override { cuda::emptyCache(); }
  void on_refusal(std::function<void(const Refusal& refusal)> listener) override {
    RefusalObserver::instance().set(device_, std::move(listener));
    listens_ = true;  // only now: without libtorch's start there is no observer
  }

  void keep_stacks(bool keep) override {
    if (!keep) return stop();
    record(/*max_entries=*/1, RecordContext::ALLOC);  // less context: segments have no stack
    listen_to(device_);
  }
  void start_recording(const RecordingOptions& options) override {
    options_ = options;
    record(static_cast<size_t>(options.max_entries),
           options.stacks == Stacks::kCpp ? RecordContext::ALL : RecordContext::NEVER);
    std::vector<LiveBlock> live;
    for (const auto& segment : cuda::snapshot({0, 0}, /*include_traces=*/false).segments) {
      if (segment.device != device_) continue;
      uint64_t address = segment.address;
      for (const auto& block : segment.blocks) {
        if (block.active) live.push_back({address, static_cast<int64_t>(block.requested_size)});
        address += block.size;
      }
    }
    cuda_log().start(std::move(live));
    listen_to(device_);
  }
  void mark(const Scope& scope, bool begins) override { cuda_log().mark(scope, begins); }
  int64_t events() const override { return cuda_log().size(); }

  Recording stop_recording(Snapshot* snapshot, bool* truncated) override {
    *truncated = events() > options_.max_entries;
    Recording recording = cuda_log().stop();
    if (snapshot != nullptr) fill(*snapshot, recording.marks);
    stop();
    return recording;
  }

 private:
  // Starts with an empty history of at most `max_entries` events.
  static void record(size_t max_entries, RecordContext contexts) {
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    cuda::recordHistory(true, contexts == RecordContext::NEVER ? nullptr : &capture_context,
                        max_entries, contexts, /*clearHistory=*/true, /*skip_actions=*/{});
  }
  static void stop() {
    cuda::recordHistory(false, nullptr, 1, RecordContext::NEVER, /*clearHistory=*/true, {});
  }

  void fill(Snapshot& snapshot, const std::vector<Mark>& marks) const {
    const cuda::SnapshotInfo info = cuda::snapshot();
    for (const auto& segment : info.segments) {
      if (segment.device == device_) snapshot.segments.push_back(segment_of(segment));
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
    annotate(snapshot, marks, device_);
    snapshot.settings = settings_of(info.config_metadata);
    const std::lock_guard lock(cuda_stacks().mutex);
    cuda_stacks().table.symbolize_into(snapshot);
  }

  c10::DeviceIndex device_;
  RecordingOptions options_;
  bool listens_ = false;  // to refusals
};

}  // namespace

std::unique_ptr<MemoryTracker> make_cuda_tracker(int device_index) {
  return std::make_unique<CudaTracker>(device_index);
}

}  // namespace headroom
