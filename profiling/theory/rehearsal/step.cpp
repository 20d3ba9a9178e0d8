#include "profiling/theory/rehearsal/step.h"

#include <utility>

#include "profiling/theory/peak.h"
#include "profiling/theory/rehearsal/compressed.h"
#include "profiling/theory/rehearsal/offloaded.h"
#include "profiling/theory/sheet.h"
#include "train/gradient_rules.h"

namespace headroom {
namespace {

std::optional<DType> autocast_type(Precision precision) {
  if (precision == Precision::kBf16 || precision == Precision::kFp8) return DType::kBf16;
  if (precision == Precision::kFp16) return DType::kFp16;
  return std::nullopt;
}

std::unique_ptr<SavedShapes> rehearse_activations(Run& run, const RunSpec& spec) {
  if (!spec.activations.offloaded()) return std::make_unique<CompressedShapes>(spec.activations);
  return std::make_unique<OffloadedShapes>(run, spec.activations, model_config(spec).layers);
}

// For a constructor's list.
Run& owned_by(Run& run, const char* owner) {
  run.memory.owner = owner;
  return run;
}

}  // namespace

RehearsedStep::RehearsedStep(Run& run, const RunSpec& spec, Head head, const char* owner)
    : run_(owned_by(run, owner)),
      spec_(spec),
      head_(head),
      owner_(owner),
      model_(run, spec, head),
      autocast_(autocast_type(spec.precision)),
      micro_batches_(passes(spec)) {
  if (!spec.activations.exact() && spec.profile_type != Mode::kForward) {
    saved_ = rehearse_activations(run, spec);
  }
  if (spec.precision == Precision::kFp16 && has_backward(spec.profile_type)) {
    begin("build", kLossScaler);
    for (const DType dtype : {DType::kFp32, DType::kInt32, DType::kFp32}) {
      loss_scaler_.push_back(empty(run, {}, dtype));
    }
  }
  if (releases_gradients(spec)) {
    release_gradients();
  } else if (offloads_optimizer(spec)) {
    send_gradients();
  } else if (spec.profile_type == Mode::kTraining) {
    optimizer_ = rehearse_updates(spec, model_.parameters());
  }
  run_.memory.owner = "";
}

// As train/techniques/gradient_release.cpp: an optimizer for each parameter, run when its gradient
// is there.
void RehearsedStep::release_gradients() {
  for (Parameter* parameter : model_.parameters()) {
    released_.push_back(rehearse_updates(spec_, {parameter}));
  }
  for (size_t i = 0; i < released_.size(); ++i) {
    Parameter* parameter = model_.parameters()[i];
    parameter->when_accumulated = [this, i, parameter] {
      const Place place = run_.memory.place;
      begin("optimizer", kOptimizerTemporaries);
      run_.memory.place.block = place.block;
      released_[i]->step();
      parameter->gradient = {};
      run_.memory.place = place;
      run_.memory.group = kTemporaries;
    };
  }
}

// As train/offload/offloaded_optimizer.cpp: a gradient goes when the next one is there. The update
// takes nothing of the card's memory.
void RehearsedStep::send_gradients() {
  for (Parameter* parameter : model_.parameters()) {
    parameter->when_accumulated = [this, parameter] {
      if (leaving_ != nullptr) leaving_->gradient = {};
      leaving_ = parameter;
    };
  }
}

void RehearsedStep::begin(const char* phase, const char* group) {
  run_.memory.place = {.phase = phase};
  run_.memory.group = group;
}

RehearsedStep::Batch RehearsedStep::batch() {
  begin("batch", kInputs);
  const Dims sizes = {spec_.batch_size, spec_.context_length};
  const ShapeTensor targets_BS = empty(run_, sizes, DType::kInt64);
  return {empty(run_, sizes, DType::kInt64), targets_BS};
}

void RehearsedStep::run() {
  const Batch data = batch();
  model_.begin_step();
  run_mode(data);
}

// The order in which things die is that of Step::run_mode().
ShapeTensor RehearsedStep::run_mode(const Batch& data) {
  if (spec_.profile_type == Mode::kForward) {
    const GradMode no_grad(run_, false);
    forward(data);
    return {};
  }
  if (spec_.profile_type == Mode::kForwardGrad) {
    forward(data);
    return {};
  }
  for (Parameter* parameter : model_.parameters()) parameter->gradient = {};
  ShapeTensor logits_BSV;
  ShapeTensor loss;
  ShapeTensor mean_loss;
  for (int64_t i = 0; i < micro_batches_; ++i) {
    logits_BSV = loss = {};  // of the part before
    loss = forward_and_loss(part_of(data), &logits_BSV);
    backward_from(loss);
    if (micro_batches_ > 1 && i == 0) mean_loss = empty(run_, {}, DType::kFp32);
  }
  if (optimizer_) update();
  return micro_batches_ > 1 ? mean_loss : loss.detach();
}

RehearsedStep::Batch RehearsedStep::part_of(const Batch& whole) const {
  if (micro_batches_ == 1) return whole;
  const int64_t sequences = spec_.batch_size / micro_batches_;
  return {narrow(whole.tokens_BS, 0, sequences), narrow(whole.targets_BS, 0, sequences)};
}

void RehearsedStep::update() {
  if (spec_.max_grad_norm > 0) clip();
  begin("optimizer", kOptimizerTemporaries);
  optimizer_->step();
}

// As train/techniques/clipping.cpp: a number for each gradient, which on CUDA is the sum of its
// chunks, and all of them in a row.
void RehearsedStep::clip() {
  begin("clipping", kTemporaries);
  run_.memory.place.operation = "_foreach_norm";
  const Sheet sheet(spec_);
  const int64_t tensors = sheet.size('M');
  std::vector<ShapeTensor> norms;
  {
    const ShapeTensor of_chunks = empty(run_, {tensors * sheet.size('C')}, DType::kFp32);
    for (int64_t i = 0; i < tensors; ++i) norms.push_back(empty(run_, {}, sheet.weight()));
  }
  run_.memory.place.operation = "stack";
  const ShapeTensor all = empty(run_, {tensors}, sheet.weight());
  run_.memory.place.operation = "linalg_vector_norm";
  const ShapeTensor norm = empty(run_, {}, sheet.weight());
}

ShapeTensor RehearsedStep::forward(const Batch& data) {
  const RehearsedAutocast autocast(run_, autocast_);
  const RehearsedSaving saving(run_, saved_.get());
  begin("forward", kActivations);
  return model_.forward(data.tokens_BS);
}

ShapeTensor RehearsedStep::forward_and_loss(const Batch& data, ShapeTensor* logits_BSV) {
  const RehearsedAutocast autocast(run_, autocast_);
  const RehearsedSaving saving(run_, saved_.get());
  begin("forward", kActivations);
  *logits_BSV = model_.forward(data.tokens_BS);
  begin("loss", kActivations);
  if (head_ == Head::kPolicy) *logits_BSV = with_probabilities(*logits_BSV);
  return cross_entropy(*logits_BSV, data.targets_BS);
}

void RehearsedStep::backward_from(ShapeTensor& loss) {
  begin("backward", kTemporaries);
  begin_backward(micro_batches_ == 1 ? loss : div_scalar(loss));
}

void RehearsedStep::begin_backward(ShapeTensor root) {
  if (!loss_scaler_.empty()) root = mul(root, loss_scaler_.front());
  const ShapeTensor ones = empty(run_, {}, root.dtype);
  backward(root, ones);
  if (leaving_ != nullptr) std::exchange(leaving_, nullptr)->gradient = {};
}

}  // namespace headroom
