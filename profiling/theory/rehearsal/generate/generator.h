// Tokens after prompts, with shapes for tensors. Read beside train/generate/generator.h and
// sampler.h. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "profiling/theory/rehearsal/generate/kv_cache.h"
#include "profiling/theory/rehearsal/model.h"

namespace headroom {

// A Generation in which no token ends a sequence and no draw is cut.
struct ShapeGeneration {
  int64_t response_len = 0;
  int64_t prefill_chunk = 0;
  double temperature = 0;
  KvCacheShape cache;
};

// Like Prompts, all of one length.
struct ShapePrompts {
  ShapeTensor tokens_BP;
  int64_t sequences() const { return tokens_BP.size(0); }
  int64_t length() const { return tokens_BP.size(1); }
};

// Note [Decodes gone through]
// Rationale: thousands of decodes differ by a token each.
// Approach: what a decode makes grows with its position, and with nothing else. Of more than some
//   hundreds so many are gone through, evenly apart, the last one, which is the largest, among
//   them.
// Limits: where a tensor of many MiB grows with every token, blocks of the sizes between are not
//   among what is cached afterwards: reserved memory may be less by them. What is allocated is not.
class RehearsedGenerator {
 public:
  RehearsedGenerator(Run& run, RehearsedModel& model, const ShapeGeneration& settings)
      : run_(run), model_(model), settings_(settings) {}

  // Prompts and responses, (B, T).
  ShapeTensor generate(const ShapePrompts& prompts);

 private:
  // Like Generator::Round.
  struct Round {
    int64_t sequences = 0;
    int64_t prompt = 0;  // tokens
    ShapeTensor next_B;
  };

  void prefill(Round& round);
  void decode(Round& round);
  ShapeTensor run_chunk(const Round& round, const std::vector<RehearsedSpan>& spans);
  ShapeTensor decode_logits(const Round& round, int64_t position);
  ShapeTensor forward(const ShapeTensor& tokens_1T, const ShapeLayout& pass);
  std::vector<std::vector<RehearsedSpan>> chunks(const Round& round) const;
  ShapeTensor next(const ShapeTensor& logits_BV) const;
  void take(const Round& round) const;

  Run& run_;
  RehearsedModel& model_;
  ShapeGeneration settings_;
  std::unique_ptr<ShapeCache> cache_;
};

}  // namespace headroom
