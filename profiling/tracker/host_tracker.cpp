// The allocator of CPU tensors. It keeps their table.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include "profiling/tracker/host_allocation_table.h"

namespace headroom {
namespace {

class HostAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void* pointer = HostAllocationTable::instance().allocate(size);
    return {pointer, pointer, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* destination, const void* source, size_t count) const override {
    default_copy_data(destination, source, count);
  }

 private:
  static void release(void* pointer) { HostAllocationTable::instance().release(pointer); }
};

class HostTracker final : public MemoryTracker {
 public:
  explicit HostTracker(int64_t limit_bytes) {
    static HostAllocator allocator;
    table_.set_limit(limit_bytes);
    c10::SetCPUAllocator(&allocator, /*priority=*/1);
  }
  ~HostTracker() override { table_.on_refusal(nullptr); }
  HostTracker(const HostTracker&) = delete;
  HostTracker& operator=(const HostTracker&) = delete;
  MemoryBytes current() const override { return same(table_.live()); }
  MemoryBytes peak() const override { return same(table_.peak()); }
  void reset_peak() override { table_.reset_peak(); }
  void release_cached() override {}
  void on_refusal(std::function<void(const Refusal& refusal)> listener) override {
    table_.on_refusal(std::move(listener));
  }
  void start_recording(const RecordingOptions& options) override { table_.start(options); }
  void mark(const Scope& scope, bool begins) override { table_.mark(scope, begins); }
  int64_t events() const override { return table_.events(); }
  Recording stop_recording(Snapshot* snapshot, bool* truncated) override {
    return table_.stop(snapshot, truncated);
  }

 private:
  static MemoryBytes same(int64_t bytes) { return {bytes, bytes, bytes}; }

  HostAllocationTable& table_ = HostAllocationTable::instance();
};

}  // namespace

std::unique_ptr<MemoryTracker> make_host_tracker(int64_t limit_bytes) {
  return std::make_unique<HostTracker>(limit_bytes);
}

}  // namespace headroom
