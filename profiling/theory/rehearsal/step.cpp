#include "profiling/theory/rehearsal/step.h"

#include "profiling/theory/peak.h"

namespace headroom {
namespace {

std::optional<DType> autocast_type(Precision precision) {
  if (precision == Precision::kBf16) return DType::kBf16;
  if (precision == Precision::kFp16) return DType::kFp16;
  return std::nullopt;
}

}  // namespace

RehearsedStep::RehearsedStep(Run& run, const RunSpec& spec)
    : run_(run), spec_(spec), model_(run, spec), autocast_(autocast_type(spec.precision)) {
  if (spec.precision == Precision::kFp16 && has_backward(spec.profile_type)) {
    begin("build", kLossScaler);
    for (const DType dtype : {DType::kFp32, DType::kInt32, DType::kFp32}) {
      loss_scaler_.push_back(empty(run, {}, dtype));
    }
  }
  if (spec.profile_type == Mode::kTraining) optimizer_.emplace(run, spec, model_.parameters());
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
  ShapeTensor loss = forward_and_loss(data, &logits_BSV);
  backward_from(loss);
  if (optimizer_) {
    begin("optimizer", kOptimizerTemporaries);
    optimizer_->step();
  }
  return loss.detach();
}

ShapeTensor RehearsedStep::forward(const Batch& data) {
  const RehearsedAutocast autocast(run_, autocast_);
  begin("forward", kActivations);
  return model_.forward(data.tokens_BS);
}

ShapeTensor RehearsedStep::forward_and_loss(const Batch& data, ShapeTensor* logits_BSV) {
  const RehearsedAutocast autocast(run_, autocast_);
  begin("forward", kActivations);
  *logits_BSV = model_.forward(data.tokens_BS);
  begin("loss", kActivations);
  return cross_entropy(*logits_BSV, data.targets_BS);
}

void RehearsedStep::backward_from(ShapeTensor& loss) {
  begin("backward", kTemporaries);
  ShapeTensor root = loss_scaler_.empty() ? loss : mul(loss, loss_scaler_.front());
  const ShapeTensor ones = empty(run_, {}, root.dtype);
  backward(root, ones);
}

}  // namespace headroom
