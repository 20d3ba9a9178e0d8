#include "bench/cell/memory/refusal_snapshot.h"

#include <exception>
#include <optional>
#include <vector>

#include "bench/cell/bench.h"
#include "bench/cell/memory/out_of_memory.h"
#include "model/torch.h"
#include "profiling/snapshot/write.h"
#include "profiling/tracker/forward_calls.h"
#include "train/hooks/listening.h"

namespace headroom {
namespace {

// Marks scopes in the allocator's trace.
class ScopeMarks final : public ScopeListener {
 public:
  explicit ScopeMarks(MemoryTracker& tracker) : tracker_(tracker) {}
  void on_scope(const Scope& scope, bool begins) override { tracker_.mark(scope, begins); }

 private:
  MemoryTracker& tracker_;
};

// Note [The snapshot of a refusal]
// Rationale: memory mostly runs out in the first step, long before the recorded ones, and a
//   snapshot without the stacks of live allocations is useless. Recording from the start would
//   slow down every measured step.
// Approach: the run is repeated with every allocation recorded from the first, and the recording
//   stops inside the refusal, before the failing step frees anything.
// Limits: twice the time; no snapshot if memory suffices the second time (other programs on the
//   card). cuBLAS workspaces of the first run exist from the start and have no stack. Memories
//   other than the model's own are not recorded.
std::optional<Snapshot> snapshot_of_refusal(const RunSpec& spec, int64_t host_memory_bytes) {
  Bench bench{.spec = spec, .device = resolve_device(spec.device)};
  bench.memories = open_memories(bench.device, host_memory_bytes, bench.refused);
  MemoryTracker& tracker = bench.tracker();
  std::optional<Snapshot> snapshot;
  bool truncated = false;
  tracker.on_refusal([&](const Refusal&) {
    if (!snapshot) tracker.stop_recording(&snapshot.emplace(), &truncated);
  });
  tracker.start_recording({.stacks = spec.stacks, .max_entries = spec.max_entries});
  std::optional<ForwardCalls> forward_calls;
  if (spec.stacks == Stacks::kCpp) forward_calls.emplace();
  try {
    std::vector<std::string> notes;
    bench.build(&notes);
    ScopeMarks marks(tracker);
    const Listening listening(*bench.step, &marks);
    for (int64_t i = 0; i < all_steps(spec); ++i) {
      if (i == spec.warmup_steps) tracker.release_cached();
      bench.step->run(bench.begin_step("repeated", i));
      synchronize(bench.device);
    }
  } catch (const std::exception&) {
    // The expected refusal; after any other failure there is no snapshot.
  }
  if (!snapshot) tracker.stop_recording(nullptr, &truncated);
  return snapshot;
}

}  // namespace

std::string write_snapshot_of_refusal(const RunSpec& spec, int64_t host_memory_bytes) {
  try {
    RunSpec again = spec;
    again.save_checkpoint.clear();  // the saved ones are complete
    const std::optional<Snapshot> snapshot = snapshot_of_refusal(again, host_memory_bytes);
    if (!snapshot) return "no snapshot: the repeated run did not run out of this memory";
    write_snapshot(*snapshot, spec.snapshot);
    return spec.snapshot + " shows the moment when memory ran out, in a repeated run";
  } catch (const std::exception&) {
    return "no snapshot of the moment when memory ran out: " + current_failure().reason;
  }
}

}  // namespace headroom
