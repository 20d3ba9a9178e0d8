// A memory snapshot as plain data, in the terms of memory_viz. No torch here.
//
// A Snapshot holds the current allocations (segments, tiled by blocks), their history (traces) and
// the phases of the program (annotations). write.h writes it, read.h reads it back, validate.h
// checks it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

struct Frame {
  std::string name;      // function
  std::string filename;  // "??" when there is no line information
  int64_t line = 0;

  // The frame that stands for an unrecorded allocation of a block. Its name is the block's label:
  // "parameters: lm_head.weight".
  static constexpr const char* kBeforeRecording = "allocated before the recording";
  bool is_before_recording() const { return filename == kBeforeRecording; }

  // Between the engine's stack and that of the forward call whose backward it runs.
  static constexpr const char* kBackwardOf = "backward of";
  bool is_backward_of() const { return name == kBackwardOf; }
};

enum class TraceAction {
  kAlloc,
  kFreeRequested,
  kFreeCompleted,
  kSegmentAlloc,
  kSegmentFree,
  kSegmentMap,
  kSegmentUnmap,
  kSnapshot,
  kOom,
};
std::string to_string(TraceAction action);                // "free_requested", ...
bool from_string(const std::string& word, TraceAction*);  // false: unknown word

std::string hex_address(uint64_t address);  // "0x7f0000000200"

struct TraceEvent {
  TraceAction action = TraceAction::kAlloc;
  uint64_t address = 0;  // for kOom: free bytes on the device
  int64_t size = 0;      // bytes as requested (alloc, free) or of the segment
  uint64_t stream = 0;
  int64_t time_us = 0;
  int32_t stack = -1;  // index into Snapshot::stacks; -1 = none recorded
  int32_t label = -1;  // index into Snapshot::labels; -1 = none
};

enum class BlockState { kActiveAllocated, kActivePendingFree, kInactive };

struct Block {
  uint64_t address = 0;
  int64_t size = 0;            // bytes the block occupies
  int64_t requested_size = 0;  // bytes the program asked for
  BlockState state = BlockState::kActiveAllocated;
  int32_t stack = -1;
};

struct Segment {
  int64_t device = 0;
  uint64_t address = 0;
  int64_t total_size = 0;
  int64_t allocated_size = 0;
  int64_t active_size = 0;
  int64_t requested_size = 0;
  uint64_t stream = 0;
  bool is_large = true;
  bool is_expandable = false;
  int64_t pool_id[2] = {0, 0};  // (0, 0) is the default pool
  std::vector<Block> blocks;    // in address order, without gaps
  int32_t stack = -1;
};

struct Annotation {
  std::string name;
  bool is_start = true;
  int64_t device = 0;
  int64_t time_us = 0;
};

// The keys of memory_viz's settings tab.
struct AllocatorSettings {
  std::string alloc_conf;  // PYTORCH_CUDA_ALLOC_CONF
  int64_t max_split_size = -1;
  double garbage_collection_threshold = 0;
  bool expandable_segments = false;
  int64_t pinned_num_register_threads = 1;
  bool release_lock_on_cudamalloc = false;
  bool pinned_use_cuda_host_register = false;
  bool graph_capture_record_stream_reuse = false;
  std::vector<int64_t> roundup_power2_divisions = std::vector<int64_t>(16, 0);
};

struct Snapshot {
  std::vector<Frame> frames;                 // each distinct frame once
  std::vector<std::vector<int32_t>> stacks;  // innermost first, indices into frames
  std::vector<std::string> labels;           // purpose of a block: "gradients: lm_head.weight"
  std::vector<Segment> segments;
  std::vector<std::vector<TraceEvent>> device_traces;  // by device ordinal
  std::vector<Annotation> annotations;
  AllocatorSettings settings;
};

}  // namespace headroom
