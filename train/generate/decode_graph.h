// Decodes the next token of every sequence as one CUDA graph, captured once.
//
// Note [Captured decode]
// Rationale: decoding few sequences runs a few hundred small kernels, and each launch costs more
//   than its kernel. Engines capture one graph for each number of sequences, which costs memory.
// Approach: the pass runs once uncaptured, on the capture's stream, so that libraries allocate
//   their lasting memory; then it is captured, into a private pool of the allocator. Data that
//   changes from token to token is in tensors with fixed addresses (KvCache::keep_shapes()):
//   tokens, positions, their places, each sequence's mask. Attention covers the whole length of the
//   cache, under that mask. Sampling is not in the graph.
// Limits: a graph serves one number of sequences; another number is captured anew. The driver's
//   memory for a graph's launches is outside the allocator, and no virtual card models it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/kv_cache/kv_cache.h"
#include "model/torch.h"
#include "model/transformer.h"
#include "train/generate/pass_forward.h"
#include "train/kernels/captured_graph.h"

namespace headroom {

class DecodeGraph {
 public:
  // `cache` holds the prompts and must outlive this. It keeps its shapes while this lives; no other
  // pass may use it meanwhile.
  DecodeGraph(Transformer model, PassForward forward, KvCache& cache);
  ~DecodeGraph();

  // (B) tokens -> (B, V) logits; the next call overwrites them.
  Tensor run(std::vector<SequenceSpan> spans, const Tensor& tokens_B);

  int64_t pool_bytes() const { return graph_ == nullptr ? 0 : graph_->pool_bytes(); }

 private:
  void capture();

  Transformer model_;
  PassForward forward_;
  KvCache& cache_;
  std::unique_ptr<CapturedGraph> graph_;
  BatchLayout pass_;
  Tensor tokens_1B_, logits_BV_;
};

}  // namespace headroom
