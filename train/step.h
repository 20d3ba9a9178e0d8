// One step of the workload. Start here.
//
// A step is a sequence of phases, each a named scope, and tags the memory that it makes.
// Profilers listen to both. build_step() in train/build.h makes a step from a RunSpec.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/torch.h"
#include "train/offload/copy_queue.h"
#include "train/parameter_layout.h"
#include "train/schedule.h"
#include "train/spec.h"
#include "train/techniques/micro_batches.h"
#include "train/techniques/saved_tensors.h"
#include "train/update/update.h"

namespace headroom {

class Step {
 public:
  Step(Transformer model, Mode mode, Precision precision, torch::Device device);

  // Runs one step and returns the mean loss of the batch: a detached scalar, FP32 but for BF16
  // weights and for autocast on the CPU, whose lists leave it in the low precision; undefined in
  // modes without a loss. Does not wait for the device. The gradients stay until the next run.
  torch::Tensor run(const Batch& batch);
  // The same of micro-batches with losses of their own, which are added up.
  torch::Tensor run(const std::vector<MicroBatch>& parts);

  // A forward without gradients, in any mode, and what `use` makes of the final norm's output, in a
  // scope `forward`. pass: how the tokens are laid out; null: rows of equal length.
  torch::Tensor infer(const torch::Tensor& tokens_BS, const LossOfOutput& use,
                      const Pass* pass = nullptr);
  // The logits of one pass, without guards and scopes of its own.
  torch::Tensor logits(const torch::Tensor& tokens_BS);

  // Frees the gradients of the last run, which the next one would free as it begins.
  void free_gradients();

  // From now on these hear the scopes and tags of every run; null: nobody. Tags the memory that
  // is there, at once.
  void listen(ScopeListener* scopes, MemoryTags* tags);

  // The seams where the techniques of train/build.h attach; null: as it is.
  BlockRunner run_block;                // runs one block
  GroupRunner run_groups;               // runs groups of blocks
  std::shared_ptr<SavedTensors> saved;  // forms of the activations that autograd saves
  LossOfBatch loss;                     // of logits and targets; null: no loss
  std::unique_ptr<Schedule> schedule;   // order of forwards and backwards
  std::shared_ptr<Update> update;       // what becomes of the gradients
  StepHooks hooks;                      // moments of a step
  ParameterLayout layout;               // where the parameters lie
  std::shared_ptr<CopyQueue> copies;    // over the host link; null: nothing is offloaded
  int64_t micro_batches = 1;            // parts of a batch

  Transformer& model() { return model_; }
  const Transformer& model() const { return model_; }
  // The contents of a file of weights: the master weights, or else the parameters. Where ranks have
  // parts of them each has to ask, and gets a copy.
  NamedTensors weights() const {
    return whole_parameters(model_->named_parameters(), layout, update->master_weights(), device_);
  }
  torch::Device device() const { return device_; }
  Precision precision() const { return precision_; }
  ScopeListener* scopes() const { return scopes_; }
  MemoryTags* tags() const { return tags_; }

 private:
  void forward(Task& task);
  void backward(Task& task, TotalLoss& total);
  torch::Tensor run_model(const Task& task);
  BlockRunner block_in_scope();

  Transformer model_;
  Mode mode_;
  Precision precision_;
  torch::Device device_;
  std::vector<torch::Tensor> parameters_;
  std::vector<std::string> names_;  // of the parameters, as in a state_dict
  ScopeListener* scopes_ = nullptr;
  MemoryTags* tags_ = nullptr;
};

}  // namespace headroom
