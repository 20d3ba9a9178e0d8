// Record: one run's results, as plain data. Every table is printed from Records. No torch here.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "profiling/record/heap_optional.h"
#include "profiling/record/named.h"
#include "profiling/record/ppo_figures.h"
#include "profiling/snapshot/analysis/growth.h"
#include "text/shared_json.h"
#include "train/settings/memory_space.h"
#include "train/settings/spec.h"

namespace headroom {

// The end of a run. A run that did not end in kOk still has a Record, with the reason.
enum class Status {
  kOk,
  kOom,
  kUnsupported,  // missing on this machine: the device or the kernel
  kUsage,        // the request is wrong; the program exits 2
  kUnwritable,   // a file of its own could not be written, or a state not read back
  kFailed,
  kKilled,
  kTimeout,
};
std::string to_string(Status status);
Status status_from_string(const std::string& word);  // throws std::invalid_argument

// Bytes at one instant, as the device's allocator counts them.
struct MemoryBytes {
  int64_t allocated = 0;  // live blocks, with the allocator's rounding
  int64_t reserved = 0;   // taken from the device, live or cached
  int64_t requested = 0;  // live blocks, as the program asked for them
};

// A memory other than the model's, over the recorded steps.
struct SpaceFigures {
  MemoryBytes peak;
  Named<MemoryBytes> phases;
  Named<int64_t> categories_at_peak;  // empty for a memory with counters only
};

// Bytes that one run of a block left alive for backward.
struct BlockResidual {
  int64_t index = 0;  // of the block, from 0 at the input
  int64_t bytes = 0;
  int64_t tensors = 0;  // distinct storages
};

// A failed allocation, and its memory at that moment, in bytes.
struct Refusal {
  int64_t tried = 0;  // the allocator's request: the program's size, rounded up
  MemoryBytes live;   // before the failing step frees anything
  int64_t free = 0;   // in the memory, or below the limit on it
  int64_t total = 0;
};

// The moment memory ran out.
struct OutOfMemory {
  std::string during;  // "building the model", "warm-up step 1", "measured step 3"
  std::string phase;   // of that step; "" outside of a phase
  std::string memory;  // the full one: "device", "host"; "" = unknown, as is refusal
  std::optional<Refusal> refusal;
  // PPO only: live bytes by role and category, and the component that grew last.
  std::string grew_last;  // "actor optimizer_state"; "" = unknown
  Named<int64_t> components;
};

// Memory left on the device after each step (headroom profile --watch).
struct Watched {
  std::vector<MemoryBytes> after_steps;  // at the end of each measured step
  std::vector<Growth> growth;            // per step; empty if nothing grows
};

// --profile-type generate.
struct GenerationFigures {
  int64_t prompt_tokens = 0;       // per step, of all sequences
  int64_t decoded_tokens = 0;      // at most; the first token of each sequence belongs to prefill
  int64_t graph_pool_bytes = 0;    // device memory of the CUDA graphs of decode
  std::vector<double> prefill_ms;  // per measured step; empty where no time passes
  std::vector<double> decode_ms;
};

// One rank of a run on a mesh.
struct RankFigures {
  int64_t rank = 0;
  Status status = Status::kFailed;
  std::string reason;              // one line; empty when ok
  std::string alike;               // "0-7,9": the ranks it stands for, itself too; "" if all ran
  MemoryBytes peak;                // zeros if not measured
  int64_t predicted_bytes = 0;     // allocated at its peak by theory; 0 = unknown
  Named<int64_t> moved;            // bytes of one step, "dp all_reduce"
  Named<int64_t> predicted_moved;  // by theory; empty if unknown
  // Bytes by category at the end of each phase of the recorded step (of its last run).
  Named<Named<int64_t>> phase_ends;
  int64_t nccl_bytes = 0;      // virtual card: assumed memory of NCCL outside the allocator
  Named<int64_t> moved_calls;  // of one step, keyed as `moved`
};

struct Record {
  static constexpr int kSchemaVersion = 3;

  RunSpec spec;
  Status status = Status::kFailed;
  std::string reason;  // one line; empty when ok
  // Null unless the status is kOom and the cell lived to report it.
  std::shared_ptr<const OutOfMemory> out_of_memory;

  // Versions, host, device, git commit and dirty flag, allocator settings, UTC time, command line.
  SharedJson environment;

  // The model's memory. All figures except `spaces` are of this memory.
  MemorySpace space = MemorySpace::kDevice;
  Named<SpaceFigures> spaces;  // "host" and "host_pinned" (pinned for CUDA)

  std::optional<MemoryBytes> peak;    // highest of each over the measured steps
  Named<MemoryBytes> phases;          // peak of each while the phase ran
  HeapList<std::string> phase_order;  // by their first begin: forward, loss, ...
  Named<int64_t> phase_runs;          // runs of each over all measured steps
  std::string peak_phase;             // the phase with peak.allocated

  // Live bytes by category at the allocated peak of the recorded step. They sum exactly to
  // peak.allocated of that step.
  Named<int64_t> categories_at_peak;
  Named<int64_t> category_peaks;             // each category's own peak, at its own moment
  std::optional<MemoryBytes> recorded_peak;  // the recorded step's own peak

  std::optional<int64_t> residual_bytes_per_block;    // saved for backward by one middle block
  std::optional<int64_t> residual_tensors_per_block;  // number of their storages
  HeapList<BlockResidual> residual_blocks;            // of all blocks, if they differ
  int64_t graph_pool_bytes = 0;        // --step-graph: card memory of the graph's private pool
  std::optional<int64_t> saved_bytes;  // saved for backward by the whole model, with the logits

  Named<int64_t> host_traffic;  // bytes of one step: "to_host", "to_card", "from_disk", "to_disk"

  std::optional<int64_t> recomputed_bytes;  // of the largest recomputation, if any

  Named<int64_t> predicted;  // the same quantities by profiling/theory

  HeapOptional<Watched> watched;
  HeapOptional<GenerationFigures> generation;
  HeapOptional<PpoFigures> ppo;  // headroom ppo only

  HeapList<RankFigures> ranks;  // all ranks of a mesh; the other figures are of the fullest one

  std::vector<double> step_ms;   // wall time of each measured step, synchronized
  HeapList<double> losses;       // of the measured steps; empty if the mode has no loss
  bool trace_truncated = false;  // more events than max_entries: the oldest are missing
  int64_t trace_events = 0;
  std::vector<std::string> notes;  // caveats for the reader: fallbacks, zeros, mismatches
};

// The first phase with the highest value of the quantity; "" in a Record without phases.
std::string fullest_phase(const Record& record, int64_t MemoryBytes::*quantity);

// One line of JSON with the keys of docs/inside/record.md; profiling/record/record_reader.h reads
// it back. NaN and infinity become null and a note. Text that is not UTF-8 is replaced, not
// refused.
std::string to_json_line(const Record& record);
nlohmann::json to_json(const Record& record);

}  // namespace headroom
