// Record: what one run gave, as plain data. Every table is printed from Records. No torch here.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "profiling/heap_optional.h"
#include "profiling/named.h"
#include "profiling/ppo_figures.h"
#include "profiling/snapshot/growth.h"
#include "text/shared_json.h"
#include "train/memory_space.h"
#include "train/spec.h"

namespace headroom {

// How a run ended. A run that did not end in kOk still has a Record, with the reason.
enum class Status {
  kOk,
  kOom,
  kUnsupported,  // this machine cannot: no such device, or not this kernel
  kUsage,        // the request itself is wrong; the program exits 2
  kUnwritable,   // a file of its own could not be written, or one of its states read
  kFailed,
  kKilled,
  kTimeout,
};
std::string to_string(Status status);
Status status_from_string(const std::string& word);  // throws std::invalid_argument

// Bytes at one instant, as the device's allocator counts them.
struct MemoryBytes {
  int64_t allocated = 0;  // live blocks, rounded as the allocator rounds them
  int64_t reserved = 0;   // taken from the device, live or cached
  int64_t requested = 0;  // live blocks as the program asked for them
};

// A memory beside the one that the model lives in, over the recorded steps.
struct SpaceFigures {
  MemoryBytes peak;
  Named<MemoryBytes> phases;
  Named<int64_t> categories_at_peak;  // empty where only counters are kept
};

// What one run of a block left alive for backward.
struct BlockResidual {
  int64_t index = 0;  // of the block, from 0 at the input
  int64_t bytes = 0;
  int64_t tensors = 0;  // distinct storages
};

// An allocation that could not be had, and its memory at that moment, in bytes.
struct Refusal {
  int64_t tried = 0;  // what the allocator asked for: the program's size, rounded up
  MemoryBytes live;   // before anything is freed by the failing step
  int64_t free = 0;   // of the memory, or of the limit on it
  int64_t total = 0;
};

// Where memory ran out.
struct OutOfMemory {
  std::string during;  // "building the model", "warm-up step 1", "measured step 3"
  std::string phase;   // of that step; "" outside of any
  std::string memory;  // which one was full: "device", "host"; "" = unknown, as is refusal
  std::optional<Refusal> refusal;
  // Of iterations of PPO: whose bytes were live then, by role and category, and whose came last.
  std::string grew_last;  // "actor optimizer_state"; "" = unknown
  Named<int64_t> components;
};

// What the steps leave on the device, step by step (headroom profile --watch).
struct Watched {
  std::vector<MemoryBytes> after_steps;  // when each measured step had ended
  std::vector<Growth> growth;            // of one step; empty where nothing grows
};

// Of --profile-type generate.
struct GenerationFigures {
  int64_t prompt_tokens = 0;       // of one step, of all sequences
  int64_t decoded_tokens = 0;      // of the decode at most: each sequence's first is the prefill's
  int64_t graph_pool_bytes = 0;    // what CUDA graphs of the decode took of the card
  std::vector<double> prefill_ms;  // of each measured step; empty where no time passes
  std::vector<double> decode_ms;
};

// One rank of a run on a mesh.
struct RankFigures {
  int64_t rank = 0;
  Status status = Status::kFailed;
  std::string reason;           // one line; empty when ok
  std::string alike;            // "0-7,9": ranks that it stands for, itself too; "" where all ran
  MemoryBytes peak;             // zeros where none was measured
  int64_t predicted_bytes = 0;  // allocated at its peak by theory; 0: not known
  Named<int64_t> moved;         // bytes of one step, "dp all_reduce"
  Named<int64_t> predicted_moved;  // the same by theory; empty where not known
  // Bytes by category when each phase of the recorded step ended, the last time of several.
  Named<Named<int64_t>> phase_ends;
  int64_t nccl_bytes = 0;      // of a virtual card, taken by NCCL beside the allocator: assumed
  Named<int64_t> moved_calls;  // of one step, as moved
};

struct Record {
  static constexpr int kSchemaVersion = 3;

  RunSpec spec;
  Status status = Status::kFailed;
  std::string reason;  // one line; empty when ok
  // Where the status is kOom and the cell lived to say it, else null.
  std::shared_ptr<const OutOfMemory> out_of_memory;

  // Versions, host, device, git commit and dirty flag, allocator settings, UTC time, command line.
  SharedJson environment;

  // Where the model lives: the memory that every figure is of but those in `spaces`.
  MemorySpace space = MemorySpace::kDevice;
  Named<SpaceFigures> spaces;  // "host", "host_pinned": ordinary, pinned for CUDA

  std::optional<MemoryBytes> peak;    // highest of each over the measured steps
  Named<MemoryBytes> phases;          // peak of each while the phase ran
  HeapList<std::string> phase_order;  // in which they first ran: forward, loss, ...
  Named<int64_t> phase_runs;          // how often each ran, in all of those steps
  std::string peak_phase;             // the phase that holds peak.allocated

  // Bytes live at the allocated peak of the recorded step, by what they are for. Sums exactly to
  // peak.allocated of that step.
  Named<int64_t> categories_at_peak;
  Named<int64_t> category_peaks;             // each category's own highest, at its own moment
  std::optional<MemoryBytes> recorded_peak;  // the recorded step's own peak

  std::optional<int64_t> residual_bytes_per_block;    // kept for backward by one middle block
  std::optional<int64_t> residual_tensors_per_block;  // in so many storages
  HeapList<BlockResidual> residual_blocks;            // of all blocks, where they differ
  std::optional<int64_t> saved_bytes;  // kept for backward by the whole model, logits included

  Named<int64_t> host_traffic;  // bytes of one step: "to_host", "to_card", "from_disk", "to_disk"

  std::optional<int64_t> recomputed_bytes;  // by the largest recomputation, where there is one

  Named<int64_t> predicted;  // profiling/theory's figures for the same quantities

  HeapOptional<Watched> watched;
  HeapOptional<GenerationFigures> generation;
  HeapOptional<PpoFigures> ppo;  // of headroom ppo

  HeapList<RankFigures> ranks;  // of a mesh, all; the other figures are those of the fullest rank

  std::vector<double> step_ms;   // wall time of each measured step, synchronized
  HeapList<double> losses;       // of the measured steps; empty where the mode has no loss
  bool trace_truncated = false;  // more events than max_entries: the oldest are missing
  int64_t trace_events = 0;
  std::vector<std::string> notes;  // what a reader must know: fallbacks, zeros, mismatches
};

// The phase in which a quantity is highest, the first of several; "" in a Record without phases.
std::string fullest_phase(const Record& record, int64_t MemoryBytes::*quantity);

// One line of JSON, keys as in docs/record.md; read again by profiling/record_reader.h. Never NaN
// or infinity (null and a note instead); text that is not UTF-8 is replaced, not refused.
std::string to_json_line(const Record& record);
nlohmann::json to_json(const Record& record);

}  // namespace headroom
