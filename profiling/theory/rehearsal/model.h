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

class RehearsedModel {
 public:
  RehearsedModel(Run& run, const RunSpec& spec, Head head);
  // Parameters know their place.
  RehearsedModel(const RehearsedModel&) = delete;
  RehearsedModel& operator=(const RehearsedModel&) = delete;

  ShapeTensor forward(const ShapeTensor& tokens_BS);

  void begin_step() {
    if (offloaded_) offloaded_->begin_step();
  }
  const std::vector<Parameter*>& parameters() const { return parameters_; }  // in libtorch's order

 private:
  void add_parameter(Parameter& parameter, const Dims& sizes);
  ShapeTensor attention(const RehearsedBlock& block, const ShapeTensor& x_BSD);
  ShapeTensor core(const ShapeTensor& q_BHSK, const ShapeTensor& k_BHTK,
                   const ShapeTensor& v_BHTK) const;
  ShapeTensor forward_block(const RehearsedBlock& block, const ShapeTensor& x_BSD);
  ShapeTensor run_blocks(int64_t first, int64_t end, ShapeTensor x_BSD);

  Run& run_;
  RunSpec spec_;
  ModelConfig config_;
  Checkpoint checkpoint_;  // none where there are no gradients
  AttentionDevice attention_;
  RotaryTables rotary_;
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
