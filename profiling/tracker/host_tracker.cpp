// The host allocator that keeps the books of CPU tensors.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <unordered_map>

#include "profiling/tracker/event_log.h"
#include "profiling/tracker/host_segments.h"
#include "profiling/tracker/memory_tracker.h"
#include "profiling/tracker/stacks.h"
#include "text/quantity.h"

namespace headroom {
namespace {

// The books. Reached from the deleter, a plain function pointer, so there is one per process and it
// is never destroyed: tensors may outlive main().
class HostBooks {
 public:
  static HostBooks& instance() {
    static auto* books = new HostBooks();
    return *books;
  }

  void check_room(int64_t size) {
    const std::lock_guard lock(mutex_);
    if (limit_ == 0 || live_bytes_ + size <= limit_) return;
    log_.add({TraceAction::kOom, static_cast<uint64_t>(limit_ - live_bytes_), size});
    TORCH_CHECK_WITH(OutOfMemoryError, false, "host memory: tried to allocate ", format_bytes(size),
                     " with ", format_bytes(live_bytes_), " live of ", format_bytes(limit_),
                     " allowed (--host-memory)");
  }

  void allocated(void* pointer, int64_t size) {
    const std::lock_guard lock(mutex_);
    live_[pointer] = {size, -1};
    live_bytes_ += size;
    peak_bytes_ = std::max(peak_bytes_, live_bytes_);
    if (!log_.is_on()) return;
    const int32_t stack = options_.stacks == Stacks::kCpp ? stacks_.capture() : -1;
    live_[pointer].stack = stack;
    log_.add({TraceAction::kAlloc, address_of(pointer), size, 0, 0, stack});
  }

  void freed(void* pointer) {
    const std::lock_guard lock(mutex_);
    const auto it = live_.find(pointer);
    if (it == live_.end()) return;
    live_bytes_ -= it->second.size;
    // A host release is immediate: requested and completed are one moment.
    log_.add({TraceAction::kFreeRequested, address_of(pointer), it->second.size});
    log_.add({TraceAction::kFreeCompleted, address_of(pointer), it->second.size});
    live_.erase(it);
  }

  void set_limit(int64_t limit) { limit_ = limit; }
  int64_t live() const {
    const std::lock_guard lock(mutex_);
    return live_bytes_;
  }
  int64_t peak() const {
    const std::lock_guard lock(mutex_);
    return peak_bytes_;
  }
  void reset_peak() {
    const std::lock_guard lock(mutex_);
    peak_bytes_ = live_bytes_;
  }

  void start(const RecordingOptions& options) {
    const std::lock_guard lock(mutex_);
    options_ = options;
    stacks_.clear();
    std::vector<LiveBlock> live_at_start;
    for (auto& [pointer, block] : live_) {
      block.stack = -1;
      live_at_start.push_back({address_of(pointer), block.size});
    }
    log_.start(std::move(live_at_start));
  }

  void mark(const std::string& name, bool is_start) { log_.mark(name, is_start); }
  int64_t events() const { return log_.size(); }

  Recording stop(Snapshot* snapshot, bool* truncated) {
    const std::lock_guard lock(mutex_);
    Recording recording = log_.stop();
    *truncated = std::ssize(recording.events) > options_.max_entries;
    if (snapshot != nullptr) fill(*snapshot, recording);
    return recording;
  }

 private:
  struct Live {
    int64_t size = 0;
    int32_t stack = -1;
  };

  static uint64_t address_of(void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

  void fill(Snapshot& snapshot, const Recording& recording) const {
    stacks_.symbolize_into(snapshot);
    const auto kept = std::min<int64_t>(std::ssize(recording.events), options_.max_entries);
    auto& trace = snapshot.device_traces.emplace_back();
    trace.reserve(static_cast<size_t>(kept));
    for (auto event = recording.events.end() - kept; event != recording.events.end(); ++event) {
      trace.push_back(event->event);
    }
    std::vector<Block> blocks;
    for (const auto& [pointer, block] : live_) {
      blocks.push_back({.address = address_of(pointer),
                        .size = block.size,
                        .requested_size = block.size,
                        .stack = block.stack});
    }
    snapshot.segments = host_segments(std::move(blocks), trace);
    annotate(snapshot, recording.marks, 0);
  }

  mutable std::mutex mutex_;
  std::unordered_map<void*, Live> live_;
  int64_t live_bytes_ = 0;
  int64_t peak_bytes_ = 0;
  std::atomic<int64_t> limit_ = 0;
  RecordingOptions options_;
  EventLog log_;
  StackTable stacks_;
};

// libtorch's own aligned host allocation, with an entry in the books.
class HostAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    const auto bytes = static_cast<int64_t>(size);
    HostBooks& books = HostBooks::instance();
    books.check_room(bytes);
    void* pointer = c10::alloc_cpu(size);
    if (pointer != nullptr) books.allocated(pointer, bytes);
    return {pointer, pointer, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* destination, const void* source, size_t count) const override {
    default_copy_data(destination, source, count);
  }

 private:
  static void release(void* pointer) {
    if (pointer == nullptr) return;
    HostBooks::instance().freed(pointer);
    c10::free_cpu(pointer);
  }
};

class HostTracker final : public MemoryTracker {
 public:
  explicit HostTracker(int64_t limit_bytes) {
    static HostAllocator allocator;
    HostBooks::instance().set_limit(limit_bytes);
    c10::SetCPUAllocator(&allocator, /*priority=*/1);
  }
  MemoryBytes current() const override { return same(HostBooks::instance().live()); }
  MemoryBytes peak() const override { return same(HostBooks::instance().peak()); }
  void reset_peak() override { HostBooks::instance().reset_peak(); }
  void release_cached() override {}
  void start_recording(const RecordingOptions& options) override {
    HostBooks::instance().start(options);
  }
  void mark(const std::string& name, bool is_start) override {
    HostBooks::instance().mark(name, is_start);
  }
  int64_t events() const override { return HostBooks::instance().events(); }
  void set_hint(Hint hint) override { set_thread_hint(hint); }
  Recording stop_recording(Snapshot* snapshot, bool* truncated) override {
    return HostBooks::instance().stop(snapshot, truncated);
  }

 private:
  static MemoryBytes same(int64_t bytes) { return {bytes, bytes, bytes}; }
};

}  // namespace

std::unique_ptr<MemoryTracker> make_host_tracker(int64_t limit_bytes) {
  return std::make_unique<HostTracker>(limit_bytes);
}

}  // namespace headroom
