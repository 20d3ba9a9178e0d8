// The model with shapes for tensors. Read beside model/: the same statements, so that a tensor dies
// where it dies there. No torch here.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "profiling/theory/head.h"
#include "profiling/theory/rehearsal/checkpoint.h"
#include "profiling/theory/rehearsal/offloaded_parameters.h"
#include "profiling/theory/rehearsal/operations.h"
#include "profiling/theory/rehearsal/pass.h"
#include "profiling/theory/rehearsal/sdpa.h"
#include "train/spec.h"

namespace headroom {

struct Parameter {
  const char* name = "";  // in its module
  ShapeTensor value;
  ShapeTensor gradient;
  std::function<void()> when_accumulated;  // where gradients are released: the update
};

struct RehearsedBlock {
  Parameter q_proj{"q_proj"}, k_proj{"k_proj"}, v_proj{"v_proj"}, output_proj{"output_proj"};
  Parameter w1{"w1"}, w2{"w2"}, w3{"w3"};
  Parameter ln1{"ln1"}, ln2{"ln2"};
};

struct RotaryTables {
  ShapeTensor cos_SR, sin_SR;
};

// Note [Blocks gone through once]
// Rationale: a decode of 2,048 tokens is as many forwards of a layer after another, each of which
//   asks for the same blocks of memory.
// Approach: without a graph what a block takes is gone when the next begins, but for its output,
//   which lies in one of two places by turns. So from the second block on each finds the allocator
//   as the one two before it left it: where it is asked for (shorten()), as many blocks are gone
//   through as tell, an even number of them left out.
// Limits: not where blocks leave something behind: a cast that autocast keeps, parameters that come
//   and go.
class RehearsedModel {
 public:
  RehearsedModel(Run& run, const RunSpec& spec, Head head);
  // Parameters know their place.
  RehearsedModel(const RehearsedModel&) = delete;
  RehearsedModel& operator=(const RehearsedModel&) = delete;

  // In groups as --checkpoint says, where a forward is run so.
  ShapeTensor forward(const ShapeTensor& tokens_BS) { return head(hidden(tokens_BS, true)); }
  ShapeTensor hidden(const ShapeTensor& tokens_BS, bool in_groups);
  ShapeTensor head(const ShapeTensor& hidden) const;
  const Parameter& head_weight() const { return lm_head_; }

  // What the tokens of the next forwards are; null: rows of the context's length.
  void set_pass(const ShapePass* pass);
  // Blocks that are alike in all they make need not be gone through one by one: see run_blocks().
  void shorten(bool shortened) { shortened_ = shortened; }

  void begin_step() {
    if (offloaded_) offloaded_->begin_step();
  }
  // Those that no block takes along when it leaves.
  std::vector<Parameter*> parameters_that_stay();
  const std::vector<Parameter*>& parameters() const { return parameters_; }  // in libtorch's order

 private:
  void add_parameter(Parameter& parameter, const Dims& sizes);
  ShapeTensor attention(const RehearsedBlock& block, const ShapeTensor& x_BSD);
  ShapeTensor whole(const ShapeTensor& q_BHSK, const ShapeTensor& k_BGTK,
                    const ShapeTensor& v_BGTK) const;
  ShapeTensor core(const ShapeTensor& q_BHSK, const ShapeTensor& k_BHTK,
                   const ShapeTensor& v_BHTK) const;
  ShapeTensor forward_block(const RehearsedBlock& block, const ShapeTensor& x_BSD);
  ShapeTensor run_blocks(int64_t first, int64_t end, ShapeTensor x_BSD);
  int64_t last_to_run(int64_t first, int64_t end) const;

  Run& run_;
  RunSpec spec_;
  ModelConfig config_;
  Checkpoint checkpoint_;  // none where there are no gradients
  AttentionDevice attention_;
  RotaryTables rotary_;
  const ShapePass* pass_ = nullptr;
  RotaryTables of_pass_;  // of its tokens
  bool shortened_ = false;
  Parameter token_embeddings_{"token_embeddings"};
  std::vector<RehearsedBlock> blocks_;
  Parameter ln_final_{"ln_final"}, lm_head_{"lm_head"};
  std::vector<Parameter*> parameters_;
  std::optional<OffloadedParameterShapes> offloaded_;
};

ShapeTensor cross_entropy(const ShapeTensor& logits_BSV, const ShapeTensor& targets_BS);

// The logits; their probabilities are kept until backward has come through the loss, as the entropy
// of a policy needs them: Note [The loss of a policy] in plan/cost/model_cost.cpp.
ShapeTensor with_probabilities(const ShapeTensor& logits_BSV);

// attention.cpp
ShapeTensor rotate(const RotaryTables& tables, const ShapeTensor& x_BHSK);
ShapeTensor repeat_heads(const ShapeTensor& x_BGTK, int64_t heads);
ShapeTensor eager_attention(const ShapeTensor& q_BHSK, const ShapeTensor& k_BHTK,
                            const ShapeTensor& v_BHTK);

}  // namespace headroom
