// What an inference engine, by vLLM's rules, makes of a card: cache, and what is left for training.
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
#include "train/vocabulary/element_type.h"

namespace headroom {

// One rank of the engine. Names and defaults as in vLLM where it has them.
struct EngineSpec {
  ModelConfig model;
  Card card;
  double utilization = 0.9;  // share of the card's memory that is the engine's
  int64_t tp = 1;            // GPUs that share every matrix
  int64_t max_model_len = 4096;
  int64_t max_num_seqs = 256;
  int64_t max_num_batched_tokens = 8192;
  int64_t block_size = 16;                 // tokens of a cache block
  ElementType dtype = ElementType::kBf16;  // of weights and activations
  ElementType cache = ElementType::kBf16;  // of keys and values
  bool tied_embeddings = false;            // the output head is the token table
  bool enforce_eager = false;              // no CUDA graphs
  bool graphs_inside = false;              // the engine counts its CUDA graphs into its share

  // From a log of the user's own, in place of what is computed or assumed.
  std::optional<int64_t> weights, activations, non_torch, graphs;
  std::optional<int64_t> cache_bytes;  // the cache's size itself; utilization decides nothing then
};

// Throws UsageError, one line, naming the flag: tp that does not divide the model or leaves the
// node, a sequence beyond the model's context, sizes beyond 2^59 bytes.
void validate(const EngineSpec& spec);

enum class Figure { kComputed, kMeasured, kAssumed, kGiven };
std::string to_string(Figure figure);  // "computed"

struct BudgetLine {
  const char* name = "";
  int64_t bytes = 0;
  Figure figure = Figure::kComputed;
  std::string why;  // formula or source, one line
};

// Note [What utilization covers]
// Rationale: gpu-memory-utilization reads as "the engine takes at most this", and it is not so.
// Approach: vLLM's order of events (vllm/v1/worker/gpu_worker.py, 0.19). The process has its CUDA
//   context and, with tensor parallelism, NCCL's buffers before the engine looks at the card: they
//   are outside, and the engine starts only where what is free then is utilization x total.
//   Weights, memory taken beside torch and the peak of a profiling run come off the share; the
//   cache is the rest. CUDA graphs are captured after the cache is there, and come on top.
// Limits: 0.21 and later estimate the graphs and take them off the share as well
//   (VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS, off by default in 0.16 to 0.20: vLLM's pull request
//   30515): graphs_inside.
struct InferenceBudget {
  std::vector<BudgetLine> inside;   // what comes off the share before the cache
  std::vector<BudgetLine> outside;  // taken of the card beside the share
  int64_t share = 0;    // utilization x total; with cache_bytes what inside and cache need
  int64_t cache = 0;    // bytes the cache may take
  int64_t missing = 0;  // bytes by which the share is too small for any cache
  int64_t block_bytes = 0;
  int64_t blocks = 0;
  int64_t blocks_per_sequence = 0;  // of max_model_len tokens
  int64_t left = 0;                 // for training; negative: the engine does not fit
  int64_t free_at_start = 0;        // when the engine looks at the card
  int64_t tokens(const EngineSpec& spec) const { return blocks * spec.block_size; }
  double sequences() const {
    return static_cast<double>(blocks) / static_cast<double>(blocks_per_sequence);
  }
  bool starts() const { return share <= free_at_start; }
  // Whether the engine serves one sequence of max_model_len tokens on this card.
  bool fits() const {
    return starts() && missing == 0 && blocks >= blocks_per_sequence && left >= 0;
  }
};

// spec must be valid.
InferenceBudget inference_budget(const EngineSpec& spec);

}  // namespace headroom
