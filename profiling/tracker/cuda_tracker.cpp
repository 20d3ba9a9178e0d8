// libtorch's CUDA caching allocator, read through its own statistics, trace and snapshot.
#include <c10/cuda/CUDACachingAllocator.h>
#include <torch/csrc/cuda/memory_snapshot.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "profiling/tracker/event_log.h"
#include "profiling/tracker/memory_tracker.h"

namespace headroom {
namespace {

namespace cuda = c10::cuda::CUDACachingAllocator;
using DeviceTraceEntry = c10::CachingDeviceAllocator::TraceEntry;
using StatType = c10::CachingAllocator::StatType;

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
    case DeviceTraceEntry::OOM:
      break;
  }
  return TraceAction::kOom;
}

EventLog& cuda_log() {
  static auto* log = new EventLog();
  return *log;
}

// The allocator calls back under its own lock, on whichever thread allocates, and a callback can
// never be detached: one log per process, switched on and off.
void start_log(int device, std::vector<LiveBlock> live) {
  static std::atomic<int> logged_device;
  static std::once_flag attached;
  logged_device = device;
  cuda_log().start(std::move(live));
  std::call_once(attached, [] {
    cuda::attachAllocatorTraceTracker([](const DeviceTraceEntry& entry) {
      if (entry.device_ != logged_device || entry.action_ == DeviceTraceEntry::SNAPSHOT) return;
      cuda_log().add({.action = action_of(entry.action_),
                      .address = entry.addr_,
                      .size = static_cast<int64_t>(entry.size_)});
    });
  });
}

// Contexts of a snapshot, named all at once.
class Contexts {
 public:
  int32_t id_of(const std::shared_ptr<c10::GatheredContext>& context) {
    auto* traceback = dynamic_cast<torch::CapturedTraceback*>(context.get());
    if (traceback == nullptr) return -1;
    const auto [it, is_new] = ids_.try_emplace(traceback, static_cast<int32_t>(order_.size()));
    if (is_new) order_.push_back(traceback);
    return it->second;
  }
  void symbolize_into(Snapshot& snapshot) const {
    if (order_.empty()) return;
    const torch::SymbolizedTracebacks named = torch::symbolize(order_);
    for (const auto& frame : named.all_frames) {
      snapshot.frames.push_back(
          {frame.funcname, frame.filename, static_cast<int64_t>(frame.lineno)});
    }
    for (const auto& stack : named.tracebacks) {
      snapshot.stacks.emplace_back(stack.begin(), stack.end());
    }
  }

 private:
  std::unordered_map<torch::CapturedTraceback*, int32_t> ids_;
  std::vector<torch::CapturedTraceback*> order_;
};

uint64_t stream_id(void* stream) { return reinterpret_cast<uint64_t>(stream); }

Segment segment_of(const c10::CachingDeviceAllocator::SegmentInfo& info, Contexts& contexts) {
  Segment segment{.device = info.device,
                  .address = info.address,
                  .total_size = static_cast<int64_t>(info.total_size),
                  .allocated_size = static_cast<int64_t>(info.allocated_size),
                  .active_size = static_cast<int64_t>(info.active_size),
                  .requested_size = static_cast<int64_t>(info.requested_size),
                  .stream = stream_id(info.stream),
                  .is_large = info.is_large,
                  .is_expandable = info.is_expandable,
                  .stack = contexts.id_of(info.context_when_allocated)};
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
                              .stack = contexts.id_of(block.context_when_allocated)});
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

  MemoryBytes current() const override {
    return read([](const c10::CachingAllocator::Stat& stat) { return stat.current; });
  }
  MemoryBytes peak() const override {
    return read([](const c10::CachingAllocator::Stat& stat) { return stat.peak; });
  }
  void reset_peak() override { cuda::resetPeakStats(device_); }
  void release_cached() override { cuda::emptyCache(); }

  void start_recording(const RecordingOptions& options) override {
    options_ = options;
    const bool with_stacks = options.stacks == Stacks::kCpp;
    torch::cuda::_record_memory_history(
        "all", with_stacks ? std::optional<std::string>("all") : std::nullopt, "all",
        static_cast<size_t>(options.max_entries), /*clearHistory=*/true);
    std::vector<LiveBlock> live;
    for (const auto& segment : cuda::snapshot({0, 0}, /*include_traces=*/false).segments) {
      if (segment.device != device_) continue;
      uint64_t address = segment.address;
      for (const auto& block : segment.blocks) {
        if (block.active) live.push_back({address, static_cast<int64_t>(block.requested_size)});
        address += block.size;
      }
    }
    start_log(device_, std::move(live));
  }
  void mark(const Scope& scope, bool begins) override { cuda_log().mark(scope, begins); }
  int64_t events() const override { return cuda_log().size(); }

  Recording stop_recording(Snapshot* snapshot, bool* truncated) override {
    *truncated = events() > options_.max_entries;
    Recording recording = cuda_log().stop();
    if (snapshot != nullptr) fill(*snapshot, recording.marks);
    torch::cuda::_record_memory_history(std::nullopt);
    return recording;
  }

 private:
  template <typename Pick>
  MemoryBytes read(Pick pick) const {
    const auto stats = cuda::getDeviceStats(device_);
    constexpr auto kAll = static_cast<size_t>(StatType::AGGREGATE);
    return {pick(stats.allocated_bytes[kAll]), pick(stats.reserved_bytes[kAll]),
            pick(stats.requested_bytes[kAll])};
  }

  void fill(Snapshot& snapshot, const std::vector<Mark>& marks) const {
    const cuda::SnapshotInfo info = cuda::snapshot();
    Contexts contexts;
    for (const auto& segment : info.segments) {
      if (segment.device == device_) snapshot.segments.push_back(segment_of(segment, contexts));
    }
    for (const auto& device_trace : info.device_traces) {
      auto& trace = snapshot.device_traces.emplace_back();
      for (const auto& entry : device_trace) {
        trace.push_back({.action = action_of(entry.action_),
                         .address = entry.addr_,
                         .size = static_cast<int64_t>(entry.size_),
                         .stream = stream_id(entry.stream_),
                         .time_us = static_cast<int64_t>(entry.time_.t_),  // microseconds by now
                         .stack = contexts.id_of(entry.context_)});
      }
    }
    annotate(snapshot, marks, device_);
    snapshot.settings = settings_of(info.config_metadata);
    contexts.symbolize_into(snapshot);
  }

  c10::DeviceIndex device_;
  RecordingOptions options_;
};

}  // namespace

std::unique_ptr<MemoryTracker> make_cuda_tracker(int device_index) {
  return std::make_unique<CudaTracker>(device_index);
}

}  // namespace headroom
