// Pinned host memory, from the statistics of libtorch's caching host allocator.
#include <ATen/core/CachingHostAllocator.h>

#include "profiling/tracker/memory_tracker.h"

namespace headroom {
namespace {

class PinnedTracker final : public MemoryTracker {
 public:
  MemoryBytes current() const override {
    return same(allocator().get_stats().allocated_bytes.current);
  }
  MemoryBytes peak() const override { return same(allocator().get_stats().allocated_bytes.peak); }
  void reset_peak() override { allocator().reset_peak_stats(); }
  void release_cached() override { allocator().empty_cache(); }

  // The statistics have no single allocations.
  void start_recording(const RecordingOptions&) override {}
  void mark(const Scope&, bool) override {}
  int64_t events() const override { return 0; }
  Recording stop_recording(Snapshot*, bool* truncated) override {
    *truncated = false;
    return {};
  }

 private:
  static at::HostAllocator& allocator() { return *at::getHostAllocator(at::kCUDA); }
  // Held bytes. libtorch 2.11 miscounts the bytes in use: a block that no event waits for is never
  // subtracted.
  static MemoryBytes same(int64_t held) { return {held, held, held}; }
};

}  // namespace

std::unique_ptr<MemoryTracker> make_pinned_tracker() { return std::make_unique<PinnedTracker>(); }

}  // namespace headroom
