// How an inference engine divides a card by vLLM's rules: its cache, and the rest for training.
// No torch here.
//
// Start here: inference_budget().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cards/cards.h"
#include "model/config.h"
#include "train/settings/vocabulary/element_type.h"

namespace headroom {

// One rank of the engine. Names and defaults follow vLLM.
struct EngineSpec {
  ModelConfig model;
  Card card;
  double utilization = 0.9;  // the engine's share of the card's memory
  int64_t tp = 1;            // GPUs that share every matrix
  int64_t max_model_len = 4096;
  int64_t max_num_seqs = 256;
  int64_t max_num_batched_tokens = 8192;
  int64_t block_size = 16;                 // tokens per cache block
  ElementType dtype = ElementType::kBf16;  // weights and activations
  ElementType cache = ElementType::kBf16;  // keys and values
  bool tied_embeddings = false;            // output head and token table share one matrix
  bool enforce_eager = false;              // no CUDA graphs
  bool graphs_inside = false;              // the engine counts its CUDA graphs into its share

  // From the user's own log; they replace computed or assumed figures.
  std::optional<int64_t> weights, activations, non_torch, graphs;
  std::optional<int64_t> cache_bytes;  // the cache's size; utilization is then ignored
};

// Throws UsageError, one line that names the flag: tp that does not divide the model or exceeds a
// node, a sequence beyond the model's context, sizes beyond 2^59 bytes.
void validate(const EngineSpec& spec);

enum class FigureOrigin { kComputed, kMeasured, kAssumed, kGiven };
std::string to_string(FigureOrigin origin);  // "computed"

struct BudgetLine {
  const char* name = "";
  int64_t bytes = 0;
  FigureOrigin origin = FigureOrigin::kComputed;
  std::string why;  // formula or source, one line
};

// Note [Memory under utilization]
// Rationale: gpu-memory-utilization reads as "the engine takes at most this", but it takes more.
// Approach: vLLM's order of events (vllm/v1/worker/gpu_worker.py, 0.19). The process has its CUDA
//   context and, with tensor parallelism, NCCL's buffers before the engine reads the card's free
//   memory. They are outside, and the engine starts only if utilization x total is free then.
//   Weights, memory taken beside torch and the peak of a profiling run come off the share; the
//   cache is the rest. CUDA graphs are captured after the cache is allocated, and come on top.
// Limits: 0.21 and later estimate the graphs and take them off the share as well
//   (VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS, off by default in 0.16 to 0.20: vLLM's pull request
//   30515): graphs_inside.
struct InferenceBudget {
  std::vector<BudgetLine> inside;   // taken from the share before the cache
  std::vector<BudgetLine> outside;  // taken from the card beside the share
  int64_t share = 0;                // utilization x total; with cache_bytes, inside + cache
  int64_t cache = 0;                // bytes the cache may take
  int64_t missing = 0;              // bytes by which the share is too small for any cache
  int64_t block_bytes = 0;
  int64_t blocks = 0;
  int64_t blocks_per_sequence = 0;  // for max_model_len tokens
  int64_t left = 0;                 // for training; negative: the engine does not fit
  int64_t free_at_start = 0;        // free memory when the engine starts
  int64_t tokens(const EngineSpec& spec) const { return blocks * spec.block_size; }
  double sequences() const {
    return static_cast<double>(blocks) / static_cast<double>(blocks_per_sequence);
  }
  bool starts() const { return share <= free_at_start; }
  // True if the engine can serve one sequence of max_model_len tokens on this card.
  bool fits() const {
    return starts() && missing == 0 && blocks >= blocks_per_sequence && left >= 0;
  }
};

// spec must be valid.
InferenceBudget inference_budget(const EngineSpec& spec);

}  // namespace headroom
