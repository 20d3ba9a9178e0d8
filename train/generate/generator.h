// Tokens after prompts: prefill, then decode, with a cache. Start here: Generator::run().
//
// No gradient is made. Two phases are told: "prefill", the prompts until each has its first new
// token, and "decode", every token after that; a cache that holds fewer sequences than there are
// prompts makes both run more than once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/kv_cache.h"
#include "model/torch.h"
#include "model/transformer.h"
#include "train/generate/decode_graph.h"
#include "train/generate/pass_forward.h"
#include "train/generate/sampler.h"
#include "train/memory_tags.h"
#include "train/scope.h"

namespace headroom {

struct Generation {
  int64_t response_len = 0;   // new tokens of a sequence, at most
  int64_t decodes_run = 0;    // of the decodes so many and the first are run, 0 = all; where no
                              // sequence ends early (Note [Decodes that are run])
  int64_t prefill_chunk = 0;  // tokens of one pass of the prefill; 0 = all prompts in one
  int64_t end_token = -1;     // a sequence ends with it; -1: none does
  bool decode_graph = false;  // each decode is a launch of one CUDA graph; on a card alone
  Sampling sampling;
  uint64_t seed = 0;   // of the draws
  KvCacheShape cache;  // `tokens` holds the longest prompt and the response
};

// Prompts, (B, longest) int64 on the model's device; what is behind a prompt's end is ignored.
struct Prompts {
  torch::Tensor tokens_BP;
  std::vector<int64_t> lengths;
};

struct Generated {
  torch::Tensor tokens_BT;       // prompts and responses, each from the left; 0 behind its end
  std::vector<int64_t> lengths;  // of each, the prompt and an end token included
  int64_t graph_pool_bytes = 0;  // what CUDA graphs took of the card, at the most
};

class Generator {
 public:
  // `forward` runs the model; it is called with a pass set on it. in_inference_mode: no operation
  // notes what its result is a view of, which costs the host time; `forward` may keep no tensor
  // that is made then.
  Generator(Transformer model, Generation settings, PassForward forward,
            bool in_inference_mode = false);

  // The cache is made here and gone at the end; tagged as kKvCache. Throws c10::Error where a
  // prompt is empty or its sequence beyond the cache.
  Generated run(const Prompts& prompts, ScopeListener* scopes, MemoryTags* tags);

 private:
  // The sequences that are in the cache together. Row r of the cache is sequence begin + r.
  struct Round {
    const Prompts& prompts;
    int64_t begin = 0;
    int64_t end = 0;
    std::vector<int64_t> rows = {};  // of the cache, that are computed
    std::vector<bool> ended = {};    // of each of these
    torch::Tensor next_B = {};       // the last token of each of these
  };

  void prefill(Round& round, Generated& out);
  void decode(Round& round, Generated& out);
  bool is_run(int64_t decode) const;  // the first is 1
  void skip(const Round& round, Generated& out);
  std::vector<Stretch> next_stretches(const Round& round) const;
  torch::Tensor decode_logits(Round& round);  // (B, V)
  // Puts the new tokens where they belong, and sees which sequences have ended. A paged cache gets
  // their blocks back and they are computed no more; in a contiguous one, which is read in place,
  // their rows are computed on for nobody, as they are in a CUDA graph.
  void take(Round& round, Generated& out);
  void drop_ended(Round& round);
  std::vector<std::vector<Stretch>> chunks(const Round& round) const;
  torch::Tensor run_chunk(const Round& round, const std::vector<Stretch>& stretches);

  Transformer model_;
  Generation settings_;
  PassForward forward_;
  bool in_inference_mode_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<DecodeGraph> graph_;
};

}  // namespace headroom
