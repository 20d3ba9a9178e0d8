// One step of the workload. Start here.
//
// A step is a sequence of phases, each a named scope, and tags the memory that it makes. Profilers
// listen to both. build_step() in train/build.h makes a step from a RunSpec.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/torch.h"
#include "train/data/parameter_layout.h"
#include "train/offload/copy_queue.h"
#include "train/schedule/schedule.h"
#include "train/settings/spec.h"
#include "train/techniques/activations/saved_tensors.h"
#include "train/techniques/micro_batches.h"
#include "train/update/update.h"

namespace headroom {

class StepGraph;

class Step {
 public:
  Step(Transformer model, Mode mode, Precision precision, torch::Device device);

  // Runs one step and returns the mean loss of the batch: a detached scalar, undefined in modes
  // without a loss. It is FP32 except with BF16 weights and with autocast on the CPU, whose lists
  // leave it in low precision. Does not wait for the device. The gradients stay until the next run.
  torch::Tensor run(const Batch& batch);
  // For micro-batches with their own losses; adds the losses up.
  torch::Tensor run(const std::vector<MicroBatch>& parts);

  // A forward without gradients, in any mode, in a scope `forward`; returns `use` of the final
  // norm's output. pass: the layout of the tokens; null: rows of equal length.
  torch::Tensor infer(const torch::Tensor& tokens_BS, const LossOfOutput& use,
                      const BatchLayout* pass = nullptr);
  // The logits of one pass, without guards or scopes.
  torch::Tensor logits(const torch::Tensor& tokens_BS);

  // Frees the gradients of the last run; the next run would free them when it begins.
  void free_gradients();

  // Sets the listeners of later runs' scopes and tags (null: none), and tags existing memory.
  void listen(ScopeListener* scopes, MemoryTags* tags);

  // Attachment points for techniques; null: none attached.
  BlockRunner run_block;                // runs one block
  GroupRunner run_groups;               // runs groups of blocks
  std::shared_ptr<SavedTensors> saved;  // format of the activations that autograd saves
  LossOfBatch loss;                     // of an output and targets; null: no loss
  MicroBatch::Output loss_of = MicroBatch::Output::kLogits;  // that output
  std::unique_ptr<Schedule> schedule;                        // order of forwards and backwards
  std::shared_ptr<Update> update;                            // use of the gradients
  StepHooks hooks;                                           // moments of a step
  ParameterLayout layout;                                    // placement of the parameters
  std::shared_ptr<CopyQueue> copies;  // over the host link; null: nothing is offloaded
  std::shared_ptr<StepGraph> graph;   // the whole step, captured
  int64_t micro_batches = 1;          // parts of a batch

  Transformer& model() { return model_; }
  const Transformer& model() const { return model_; }
  // The contents of a weight file: the master weights, or else the parameters. If ranks have parts
  // of them, every rank must call this and gets a copy.
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
