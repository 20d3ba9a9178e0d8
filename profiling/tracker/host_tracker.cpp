// The allocator of CPU tensors. It keeps the books.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include "profiling/tracker/host_books.h"

namespace headroom {
namespace {

class HostAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void* pointer = HostBooks::instance().allocate(size);
    return {pointer, pointer, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* destination, const void* source, size_t count) const override {
    default_copy_data(destination, source, count);
  }

 private:
  static void release(void* pointer) { HostBooks::instance().release(pointer); }
};

class HostTracker final : public MemoryTracker {
 public:
  explicit HostTracker(int64_t limit_bytes) {
    static HostAllocator allocator;
    books_.set_limit(limit_bytes);
    c10::SetCPUAllocator(&allocator, /*priority=*/1);
  }
  ~HostTracker() override { books_.on_refusal(nullptr); }
  HostTracker(const HostTracker&) = delete;
  HostTracker& operator=(const HostTracker&) = delete;
  MemoryBytes current() const override { return same(books_.live()); }
  MemoryBytes peak() const override { return same(books_.peak()); }
  void reset_peak() override { books_.reset_peak(); }
  void release_cached() override {}
  void on_refusal(std::function<void(const Refusal& refusal)> listener) override {
    books_.on_refusal(std::move(listener));
  }
  void start_recording(const RecordingOptions& options) override { books_.start(options); }
  void mark(const Scope& scope, bool begins) override { books_.mark(scope, begins); }
  int64_t events() const override { return books_.events(); }
  Recording stop_recording(Snapshot* snapshot, bool* truncated) override {
    return books_.stop(snapshot, truncated);
  }

 private:
  static MemoryBytes same(int64_t bytes) { return {bytes, bytes, bytes}; }

  HostBooks& books_ = HostBooks::instance();
};

}  // namespace

std::unique_ptr<MemoryTracker> make_host_tracker(int64_t limit_bytes) {
  return std::make_unique<HostTracker>(limit_bytes);
}

}  // namespace headroom
