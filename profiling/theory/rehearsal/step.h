// One step with shapes for tensors. Read beside train/step.cpp. No torch here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "profiling/theory/rehearsal/generate/generator.h"
#include "profiling/theory/rehearsal/model.h"
#include "profiling/theory/rehearsal/offload/host_gradients.h"
#include "profiling/theory/rehearsal/optim/optimizer.h"
#include "profiling/theory/rehearsal/parallel/given_shapes.h"
#include "profiling/theory/rehearsal/run.h"
#include "train/settings/spec.h"

namespace headroom {

// Like LossOfOutput of train/step.h.
using ShapeOfHidden = std::function<ShapeTensor(RehearsedModel& model, const ShapeTensor& hidden)>;

// Like a MicroBatch with its loss.
struct ShapeLossPart {
  ShapeTensor tokens_1T;
  ShapeOfHidden loss;
  std::shared_ptr<const ShapeLayout> pass;
};

// In passes of equally many tokens, one after another, the fourth finds what the third one left:
// whether this one is such, and not the last of all. tokens: of each.
bool repeats_others(const std::vector<int64_t>& tokens, size_t pass);

class RehearsedStep {
 public:
  // owner: whose step it is, where several share a card; a literal. rank: of the spec's mesh.
  RehearsedStep(Run& run, const RunSpec& spec, Head head, const char* owner = "", int64_t rank = 0);

  void run();

  // Like the members of Step.
  void run(const std::vector<ShapeLossPart>& parts);
  ShapeTensor infer(const ShapeTensor& tokens_1T, const ShapeOfHidden& use,
                    const ShapeLayout& pass);
  ShapeTensor generate(const ShapePrompts& prompts, const ShapeGeneration& settings);
  void free_gradients();
  // Storages that may leave the card between phases: weights; master copies and optimizer states.
  // Absent ones are included, and shared ones as often as tensors share them.
  std::vector<std::shared_ptr<Storage>> weight_storages();
  std::vector<std::shared_ptr<Storage>> state_storages();

  // Host memory beside the card's that is held from step to step: slabs of pinned memory; states of
  // the weights that the host updates, once it has had its gradient.
  int64_t pinned_host_bytes() const;
  int64_t host_state_bytes() const { return on_host_.state_bytes(); }

 private:
  struct Batch {
    ShapeTensor tokens_BS, targets_BS;
  };

  void begin(const char* phase, const char* group);
  ShapeTensor run_part(const ShapeLossPart& part);
  void begin_backward(ShapeTensor root);
  Batch batch();
  Batch part_of(const Batch& whole) const;
  ShapeTensor run_mode(const Batch& batch);
  ShapeTensor run_stage(const Batch& batch);
  ShapeTensor forward_of_chunk(int64_t chunk, const Batch& part, const ShapeTensor& x_BSD);
  ShapeTensor logits(const Batch& batch);
  ShapeTensor forward(const Batch& batch);
  ShapeTensor forward_and_loss(const Batch& batch, ShapeTensor* logits_BSV);
  void backward_from(ShapeTensor& loss, bool last);
  void backward_from(ShapeTensor& output, const ShapeTensor& gradient, bool last);
  void finish_gradients();
  void release_gradients();
  void send_gradients();
  void let_go(Parameter& parameter);
  void end_backward();
  void clip();
  void update();

  Run& run_;
  RunSpec spec_;
  Head head_;
  const char* owner_;
  // Outlives the model: what a stage keeps of a step that a full card ended lies on the host.
  std::unique_ptr<SavedShapes> saved_;  // null: as it is
  RehearsedModel model_;
  std::optional<DType> autocast_;
  std::vector<ShapeTensor> loss_scaler_;  // its state; empty where there is none
  int64_t micro_batches_ = 1;
  bool updates_ = false;             // after the last backward
  RehearsedOptimizerPtr optimizer_;  // null too where the rank's part of everything is nothing
  std::vector<RehearsedOptimizerPtr> released_;  // one for each parameter, inside backward
  Parameter* leaving_ = nullptr;                 // whose gradient is on its way to the host
  HostGradients on_host_;                        // and those that are there
  std::unique_ptr<GivenShapes> given_;           // by replicas to be sent; null: by backward
};

}  // namespace headroom
