// The next token of every sequence as one CUDA graph: captured once, then launched as a whole.
//
// Note [What a captured decode is]
// Rationale: a decode of few sequences is a few hundred small kernels, and a launch each costs more
//   than they do. Engines capture one graph for each number of sequences, and pay for it in memory.
// Approach: the pass runs once beside, on the stream of the capture, so that libraries have what
//   they keep; then it is captured, into a private pool of the allocator. What changes from token
//   to token lies in tensors that stay where they are (KvCache::keep_shapes()): tokens, positions,
//   where they go, which positions are a sequence's own. Attention is over the whole length of the
//   cache, under that mask. The draw is not in the graph.
// Limits: a graph is of so many sequences; of another number it is captured anew. What the driver
//   keeps for a graph's launches is not the allocator's, and no virtual card knows it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/kv_cache.h"
#include "model/torch.h"
#include "model/transformer.h"
#include "train/generate/pass_forward.h"

namespace at::cuda {
struct CUDAGraph;
}

namespace headroom {

class DecodeGraph {
 public:
  // `cache` holds the prompts. It keeps its shapes while this lives, which it outlives; no other
  // pass goes through it.
  DecodeGraph(Transformer model, PassForward forward, KvCache& cache);
  ~DecodeGraph();

  // (B) tokens -> (B, V) logits, which are overwritten by the next call.
  Tensor run(std::vector<Stretch> stretches, const Tensor& tokens_B);

  // What the private pool has taken of the card.
  int64_t pool_bytes() const;

 private:
  void capture();

  Transformer model_;
  PassForward forward_;
  KvCache& cache_;
  std::unique_ptr<at::cuda::CUDAGraph> graph_;
  Pass pass_;
  Tensor tokens_1B_, logits_BV_;
};

}  // namespace headroom
