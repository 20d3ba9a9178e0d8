// libtorch's CUDA caching allocator, read through its own statistics, trace and snapshot.
#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "profiling/tracker/cuda_snapshot.h"
#include "profiling/tracker/event_log.h"
#include "profiling/tracker/memory_tracker.h"

namespace headroom {
namespace {

namespace cuda = c10::cuda::CUDACachingAllocator;
using DeviceTraceEntry = c10::CachingDeviceAllocator::TraceEntry;
using StatType = c10::CachingAllocator::StatType;
using cuda::RecordContext;

EventLog& cuda_log() {
  static auto* log = new EventLog();
  return *log;
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
      cuda_log().add({.action = action_of(entry.action_),
                      .address = entry.addr_,
                      .size = static_cast<int64_t>(entry.size_)});
    });
  });
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
    if (!keep) return end_cuda_history();
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
    if (snapshot != nullptr) {
      *snapshot = cuda_snapshot(device_);
      annotate(*snapshot, recording.marks, device_);
    }
    end_cuda_history();
    return recording;
  }

 private:
  static void record(size_t max_entries, RecordContext contexts) {
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    record_cuda_history(max_entries, contexts);
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
