// One step of the workload. Start here.
//
// A step is a sequence of phases, each a named scope, and it says of what it makes whose it is;
// whoever profiles may listen to both, and nothing of profiling is known here. build_step() in
// train/build.h makes one from a RunSpec.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/torch.h"
#include "model/transformer.h"
#include "train/data/data.h"
#include "train/data/weights.h"
#include "train/generate/generator.h"
#include "train/loss_scaler.h"
#include "train/memory_claims.h"
#include "train/offload/copy_queue.h"
#include "train/offload/offloaded_parameters.h"
#include "train/optim/optimizer.h"
#include "train/parallel/pipeline.h"
#include "train/parallel/replicas.h"
#include "train/parallel/tensor_parallel.h"
#include "train/scope.h"
#include "train/spec.h"
#include "train/techniques/gradient_taker.h"
#include "train/techniques/saved_tensors.h"

namespace headroom {

// What is made of the final norm's output: (B, S, D), or (1, N, D) of the outputs that a pass
// wants. Runs under the step's autocast.
using OfHidden = std::function<torch::Tensor(Transformer& model, const torch::Tensor& hidden_BSD)>;

// Sequences that go forward and backward together, and a loss that is not the step's own.
struct LossPart {
  torch::Tensor tokens_BS;  // int64 on the device; of a pass (1, T)
  OfHidden loss;  // a scalar: the part's share; the shares of all parts add up to the loss
  std::shared_ptr<const Pass> pass = nullptr;  // what the tokens are; null: rows of equal length
};

class Step {
 public:
  Step(Transformer model, Mode mode, Precision precision, torch::Device device);

  // Runs one step and returns the mean loss of the batch (a detached scalar, FP32 but for BF16
  // weights and for autocast on the CPU, whose lists leave it in the low precision; undefined where
  // the mode computes none). Does not wait for the device. The gradients stay until the next run
  // begins.
  torch::Tensor run(const Batch& batch);

  // The same with losses of the caller's: forward, loss and backward of each part in turn, then one
  // update. Returns the sum of their losses, detached, FP32. Throws c10::Error in modes without a
  // backward and without parts; what updates inside backward (gradient release) takes one part.
  // The parts are the micro-batches: `micro_batches` is not looked at.
  torch::Tensor run(const std::vector<LossPart>& parts);

  // A forward without gradients, in any mode, and what `use` makes of it, in a scope `forward`.
  // pass: what the tokens are; null: rows of equal length.
  torch::Tensor infer(const torch::Tensor& tokens_BS, const OfHidden& use,
                      const Pass* pass = nullptr);

  // Frees the gradients of the last run, which the next one would free as it begins.
  void free_gradients();

  // New tokens after prompts, with what `generation` says, by blocks that are run as in every step.
  // The cache is gone when it returns.
  Generated generate(const Prompts& prompts);

  // Who hears the scopes and who the claims of every run from now on; null: nobody, and it costs
  // nothing. What is there already is claimed at once.
  void listen(ScopeListener* scopes, MemoryClaims* claims);
  // Claims it again: what came back to the card is not where it was.
  void claim_what_is_there();

  // What the techniques of train/build.h set.
  BlockRunner run_block;                            // how each block is run
  GroupRunner run_groups;                           // how groups of them are; null: as they are
  std::shared_ptr<CopyQueue> copies;                // of all that is offloaded; null: nothing is
  std::unique_ptr<OffloadedParameters> parameters;  // of the blocks; null: they stay on the card
  std::unique_ptr<SavedTensors> saved;      // what the forward and the loss save; null: as it is
  std::unique_ptr<Optimizer> optimizer;     // training only, unless `taker` is in its place
  std::unique_ptr<GradientTaker> taker;     // updates by the gradients as backward completes them
  std::unique_ptr<Replicas> replicas;       // other ranks that train the model; null: there is none
  std::unique_ptr<TensorParallel> tensors;  // ranks that share every matrix; null: there are none
  std::unique_ptr<Pipeline> pipeline;       // where this is a stage of several; null: it is not
  std::unique_ptr<LossScaler> loss_scaler;  // FP16 with a backward only
  std::optional<Generation> generation;     // what generate() does; none: it is not asked for
  int64_t micro_batches = 1;                // parts of a batch, each with a backward of its own
  std::vector<std::string> update_names;    // of what the optimizer updates; build_step's to set
  double max_grad_norm = 0;                 // gradients are clipped to it before an update; 0: not

  Transformer& model() { return model_; }
  const Transformer& model() const { return model_; }
  // What a file of weights holds: the master copies where there are, else the parameters.
  // Where replicas share them every one of them has to ask, and what comes is a copy.
  NamedTensors weights() const;
  torch::Device device() const { return device_; }
  ScopeListener* scopes() const { return scopes_; }  // who hears them now; null: nobody
  // What the CUDA graphs of the last generate() took of the card.
  int64_t graph_pool_bytes() const { return graph_pool_bytes_; }
  // Over the host link, so far.
  HostTraffic host_traffic() const { return copies ? copies->traffic() : HostTraffic(); }
  // Of numbers that each rank of the grid has: their sum. All ranks have to ask at once.
  double sum_over_ranks(double here);
  int64_t skipped_steps() const { return skipped_steps_; }  // FP16 gradients were not finite

 private:
  torch::Tensor run_mode(const Batch& batch);
  torch::Tensor run_part(const LossPart& part, bool last);
  void begin_step();
  void finish_gradients(size_t backwards);
  torch::Tensor forward(const Batch& batch, ScopeKind kind);
  torch::Tensor forward_and_loss(const Batch& batch, torch::Tensor* logits_BSV);
  torch::Tensor logits(const Batch& batch, ScopeKind kind);
  torch::Tensor loss_of(const torch::Tensor& logits_BSV, const torch::Tensor& targets_BS) const;
  torch::Tensor run_model(const torch::Tensor& tokens_BS);
  BlockRunner block_in_scope();
  torch::Tensor run_stage(const Batch& batch);
  torch::Tensor forward_of_chunk(int64_t chunk, const Batch& part, const torch::Tensor& x_BSD);
  // From a loss, or from an output and its gradient.
  void backward(const torch::Tensor& output, const torch::Tensor& gradient, int64_t parts,
                bool last);
  void add_up_over_ranks(torch::Tensor& number);
  bool all_ranks(bool here);
  void claim_gradients();
  void claim_stores();
  void clip();
  NamedTensors own_weights() const;
  void update();
  void update_by_taker(size_t backwards);

  Transformer model_;
  Mode mode_;
  Precision precision_;
  torch::Device device_;
  std::vector<torch::Tensor> parameters_;
  std::vector<std::string> names_;  // of the parameters, as in a state_dict
  int64_t skipped_steps_ = 0;
  int64_t graph_pool_bytes_ = 0;
  ScopeListener* scopes_ = nullptr;
  MemoryClaims* claims_ = nullptr;
};

// Listens to a step while alive.
class Listening {
 public:
  Listening(Step& step, ScopeListener* scopes, MemoryClaims* claims = nullptr) : step_(step) {
    step_.listen(scopes, claims);
  }
  ~Listening() { step_.listen(nullptr, nullptr); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  Step& step_;
};

}  // namespace headroom
