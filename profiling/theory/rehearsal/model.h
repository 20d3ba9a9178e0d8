// The model with shapes for tensors. Read beside model/: the same statements, so that a tensor dies
// where it dies there. No torch here.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "profiling/theory/activations/layers/head.h"
#include "profiling/theory/rehearsal/generate/pass.h"
#include "profiling/theory/rehearsal/offload/offloaded_parameters.h"
#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/operations/sdpa.h"
#include "profiling/theory/rehearsal/parallel/stage_shapes.h"
#include "profiling/theory/rehearsal/parallel/tensor_shapes.h"
#include "profiling/theory/rehearsal/techniques/checkpoint.h"
#include "train/settings/spec.h"

namespace headroom {

class ShardShapes;

struct Parameter {
  const char* name = "";  // in its module
  ShapeTensor value;
  ShapeTensor gradient;
  std::function<void()> when_accumulated;  // where gradients are released: the update
  int64_t whole_elements = 0;              // of what it is a piece of; 0: of nothing
};

// The node that ends in a parameter's gradient.
std::shared_ptr<Node> accumulate_grad(Parameter& parameter, int64_t block);

struct RehearsedBlock {
  Parameter q_proj{"attn.q_proj.weight"}, k_proj{"attn.k_proj.weight"};
  Parameter v_proj{"attn.v_proj.weight"}, output_proj{"attn.output_proj.weight"};
  Parameter w1{"ffn.w1.weight"}, w2{"ffn.w2.weight"}, w3{"ffn.w3.weight"};
  Parameter ln1{"ln1.weight"}, ln2{"ln2.weight"};

  std::vector<Parameter*> parameters();  // in the order of TransformerBlockImpl's
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
  // rank: whose of the spec's mesh.
  RehearsedModel(Run& run, const RunSpec& spec, Head head, int64_t rank = 0);
  // Parameters know their place.
  ~RehearsedModel();
  RehearsedModel(const RehearsedModel&) = delete;
  RehearsedModel& operator=(const RehearsedModel&) = delete;

  // In groups as --recompute says, where a forward is run so.
  ShapeTensor forward(const ShapeTensor& tokens_BS) { return head(hidden(tokens_BS, true)); }
  ShapeTensor hidden(const ShapeTensor& tokens_BS, bool in_groups);
  ShapeTensor head(const ShapeTensor& hidden) const;
  // The parts of forward(); blocks [first, end) of the model's.
  ShapeTensor embed(const ShapeTensor& tokens_BS);
  ShapeTensor blocks(int64_t first, int64_t end, ShapeTensor x_BSD, bool in_groups);
  ShapeTensor final_norm(const ShapeTensor& x_BSD) const;
  ShapeTensor loss(const ShapeTensor& logits_BSV, const ShapeTensor& targets_BS) const;
  const Parameter& head_weight() const { return lm_head_; }

  // The tokens of the next forwards; null: rows of the context's length.
  void set_pass(const ShapeLayout* pass);
  // Blocks that are alike in all they make need not be gone through one by one: see run_blocks().
  void shorten(bool shortened) { shortened_ = shortened; }

  void begin_step();
  // The parameters that no block takes along when it leaves.
  std::vector<Parameter*> parameters_that_stay();
  const std::vector<Parameter*>& parameters() const { return parameters_; }  // in libtorch's order
  // The tensors that an optimizer updates: the parameters, or this replica's part of them.
  std::vector<Parameter*> updated();
  // Slabs of those that live on the host.
  int64_t pinned_host_bytes() const { return offloaded_ ? offloaded_->host_bytes() : 0; }
  DType weight_type() const { return parameters_.front()->value.dtype; }

  // This rank's place in the mesh; the last two are null where it is alone along that axis.
  StageShapes& stage() { return stage_; }
  const TensorShapes* tensors() const { return tensors_.get(); }
  ShardShapes* shards() { return shards_.get(); }

 private:
  void build(Head head);
  void build_block(RehearsedBlock& block);
  void take_block(RehearsedBlock& block);
  void take_rest();
  void make(Parameter& parameter);
  void cut(Parameter& parameter);
  // Around what ranks share.
  ShapeTensor come(const ShapeTensor& x) const { return tensors_ ? tensors_->come(x) : x; }
  ShapeTensor leave(const ShapeTensor& x) const { return tensors_ ? tensors_->leave(x) : x; }
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
  int64_t heads_, kv_heads_;  // of this rank
  Checkpoint checkpoint_;     // none where there are no gradients
  AttentionDevice attention_;
  RotaryTables rotary_;
  const ShapeLayout* pass_ = nullptr;
  RotaryTables of_pass_;  // of its tokens
  bool shortened_ = false;
  Parameter token_embeddings_{"token_embeddings.weight"};
  std::vector<RehearsedBlock> blocks_;
  Parameter ln_final_{"ln_final.weight"}, lm_head_{"lm_head.weight"};
  std::vector<Parameter*> parameters_;
  std::optional<OffloadedParameterShapes> offloaded_;
  StageShapes stage_;
  std::unique_ptr<TensorShapes> tensors_;
  std::unique_ptr<ShardShapes> shards_;
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
