// Generates tokens after prompts: prefill, then decode, with a cache. Start here: Generator::run().
//
// Makes no gradients. It opens two phases: "prefill", from the prompts to each one's first new
// token, and "decode", every later token. If the cache holds fewer sequences than there are
// prompts, both run more than once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/kv_cache/kv_cache.h"
#include "model/torch.h"
#include "model/transformer.h"
#include "train/generate/decode_graph.h"
#include "train/generate/pass_forward.h"
#include "train/generate/sampler.h"
#include "train/hooks/memory_tags.h"
#include "train/hooks/scope.h"

namespace headroom {

struct Generation {
  int64_t response_len = 0;   // most new tokens of a sequence
  int64_t decodes_run = 0;    // number of decodes to run besides the first, 0 = all; if no sequence
                              // ends early (Note [Decodes that are run])
  int64_t prefill_chunk = 0;  // tokens per prefill pass; 0 = all prompts in one
  int64_t end_token = -1;     // ends a sequence; -1: none
  bool decode_graph = false;  // each decode launches one CUDA graph; only on a card
  Sampling sampling;
  uint64_t seed = 0;   // for sampling
  KvCacheShape cache;  // `tokens` must hold the longest prompt and the response
};

// Prompts, (B, longest) int64 on the model's device; tokens after a prompt's end are ignored.
struct Prompts {
  torch::Tensor tokens_BP;
  std::vector<int64_t> lengths;
};

struct Generated {
  torch::Tensor tokens_BT;       // prompts and responses, left-aligned; 0 after the end
  std::vector<int64_t> lengths;  // with the prompt and an end token
  int64_t graph_pool_bytes = 0;  // most card memory of CUDA graphs
};

class Generator {
 public:
  // `forward` runs the model, with a pass set on it. in_inference_mode: operations do not track
  // views, which saves host time; `forward` must then keep no new tensors.
  Generator(Transformer model, Generation settings, PassForward forward,
            bool in_inference_mode = false);

  // Makes the cache, tagged as kKvCache, and frees it at the end. Throws c10::Error if a prompt is
  // empty or its sequence exceeds the cache.
  Generated run(const Prompts& prompts, ScopeListener* scopes, MemoryTags* tags);

 private:
  // The sequences that share the cache. Row r of the cache is sequence begin + r.
  struct Round {
    const Prompts& prompts;
    int64_t begin = 0;
    int64_t end = 0;
    std::vector<int64_t> rows = {};  // rows of the cache that are computed
    std::vector<bool> ended = {};    // by computed row
    torch::Tensor next_B = {};       // last token, by computed row
  };

  void prefill(Round& round, Generated& out);
  void decode(Round& round, Generated& out);
  bool is_run(int64_t decode) const;  // the first is 1
  void skip(const Round& round, Generated& out);
  std::vector<SequenceSpan> next_spans(const Round& round) const;
  torch::Tensor decode_logits(Round& round);  // (B, V)
  // Stores the new tokens and marks ended sequences. A paged cache frees their blocks and drops
  // them. A contiguous cache is read in place, so their rows are still computed, with unused
  // results, as in a CUDA graph.
  void take(Round& round, Generated& out);
  void drop_ended(Round& round);
  std::vector<std::vector<SequenceSpan>> chunks(const Round& round) const;
  torch::Tensor run_chunk(const Round& round, const std::vector<SequenceSpan>& spans);

  Transformer model_;
  Generation settings_;
  PassForward forward_;
  bool in_inference_mode_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<DecodeGraph> graph_;
};

}  // namespace headroom
