#include "profiling/theory/rehearsal/step.h"

#include <algorithm>
#include <utility>

#include "profiling/theory/peak.h"
#include "profiling/theory/rehearsal/offload/offloaded.h"
#include "profiling/theory/rehearsal/parallel/moved_shapes.h"
#include "profiling/theory/rehearsal/parallel/shard_shapes.h"
#include "profiling/theory/rehearsal/techniques/compressed.h"
#include "profiling/theory/row_builder.h"
#include "train/parallel/data/shard_groups.h"
#include "train/parallel/tensor/tensor_plan.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

std::optional<DType> autocast_type(Precision precision) {
  if (precision == Precision::kBf16 || precision == Precision::kFp8) return DType::kBf16;
  if (precision == Precision::kFp16) return DType::kFp16;
  return std::nullopt;
}

std::unique_ptr<SavedShapes> rehearse_activations(Run& run, const RunSpec& spec,
                                                  const StageShapes& stage) {
  if (!spec.activations.offloaded()) return std::make_unique<CompressedShapes>(spec.activations);
  auto offloaded = std::make_unique<OffloadedShapes>(run, spec.activations, stage.layers());
  offloaded->end_at(stage.last_blocks());
  return offloaded;
}

bool shares_gradients(const RunSpec& spec) {
  return spec.mesh.size(MeshAxis::kData) > 1 && spec.zero == 0;
}

// By the hooks of DataParallel, and by TensorParallel::finish_gradients().
void count_added_gradients(Run& run, const RunSpec& spec, RehearsedModel& model) {
  const auto count = [&](MeshAxis axis, const char* tensor, int64_t elements) {
    if (elements == 0) return;
    count_moved(run, {axis, Collective::kAllReduce}, tensor, "elements", {elements},
                model.weight_type());
  };
  int64_t all = 0;
  for (const Parameter* parameter : model.parameters()) all += parameter->value.elements();
  // A host that adds gradients up gets them from every backward.
  const int64_t times = offloads_optimizer(spec) ? passes(spec) : 1;
  for (int64_t i = 0; shares_gradients(spec) && i < times; ++i) {
    count(MeshAxis::kData, "gradients, in buckets", all);
  }
  if (!spec.sequence_parallel || spec.profile_type != Mode::kTraining) return;
  int64_t whole = 0;
  for (const Parameter* parameter : model.updated()) {
    if (split_of(parameter->name) == Split::kWhole) whole += parameter->value.elements();
  }
  for (int64_t i = 0; i < times; ++i) {
    count(MeshAxis::kTensor, "gradients of whole parameters", whole);
  }
}

// A number that each rank has of its own part, of all of them.
void count_number(Run& run, const RunSpec& spec, const char* name, DType dtype) {
  for (const MeshAxis axis : kMeshAxes) {
    if (spec.mesh.size(axis) == 1) continue;
    if (axis == MeshAxis::kData && shares_gradients(spec)) continue;
    count_moved(run, {axis, Collective::kAllReduce}, name, "", {}, dtype);
  }
}

// Copies of a group have their parts alike, but each its own steps that are not finite.
void count_copies(Run& run, const RunSpec& spec) {
  const ShardGroups groups(spec.mesh, spec.shard_group);
  if (groups.groups() == 1) return;
  count_moved(run, {MeshAxis::kData, Collective::kAllReduce, /*between_copies=*/true}, "not finite",
              "", {}, DType::kInt32);
}

// For a constructor's list.
Run& owned_by(Run& run, const char* owner) {
  run.memory.owner = owner;
  return run;
}

}  // namespace

RehearsedStep::RehearsedStep(Run& run, const RunSpec& spec, Head head, const char* owner,
                             int64_t rank)
    : run_(owned_by(run, owner)),
      spec_(spec),
      head_(head),
      owner_(owner),
      model_(run, spec, head, rank),
      autocast_(autocast_type(spec.precision)),
      micro_batches_(passes(spec)) {
  if (!spec.activations.exact() && spec.profile_type != Mode::kForward) {
    saved_ = rehearse_activations(run, spec, model_.stage());
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
    updates_ = true;
    if (!model_.updated().empty()) optimizer_ = rehearse_updates(spec, model_.updated());
  }
  run_.memory.owner = "";
}

// Like train/update/gradient_release.cpp: an optimizer for each parameter, run when its gradient
// is there.
void RehearsedStep::release_gradients() {
  for (Parameter* parameter : model_.parameters()) {
    released_.push_back(rehearse_updates(spec_, {parameter}));
  }
  for (size_t i = 0; i < released_.size(); ++i) {
    Parameter* parameter = model_.parameters()[i];
    parameter->when_accumulated = [this, i, parameter] {
      const AllocationSite site = run_.memory.site;
      begin("optimizer", kOptimizerTemporaries);
      run_.memory.site.block = site.block;
      released_[i]->step();
      parameter->gradient = {};
      run_.memory.site = site;
      run_.memory.group = kTemporaries;
    };
  }
}

// Like train/offload/states/offloaded_optimizer.cpp: a gradient goes when the next one is there.
// The update takes nothing of the card's memory.
void RehearsedStep::send_gradients() {
  const auto send = [this](Parameter& parameter) {
    on_host_.take(parameter);
    if (leaving_ != nullptr) let_go(*leaving_);
    leaving_ = &parameter;
  };
  if (model_.shards() != nullptr) {
    model_.shards()->send_to(send);
  } else if (spec_.mesh.size(MeshAxis::kData) > 1) {
    given_ = std::make_unique<GivenShapes>(model_.parameters(), spec_.bucket_bytes, send);
  } else {
    for (Parameter* parameter : model_.parameters()) {
      parameter->when_accumulated = [send, parameter] { send(*parameter); };
    }
  }
}

// Like Step::backward() ends.
void RehearsedStep::end_backward() {
  if (model_.shards() != nullptr) model_.shards()->end_backward();
  if (given_) given_->end_backward();
  if (leaving_ != nullptr) let_go(*std::exchange(leaving_, nullptr));
}

void RehearsedStep::let_go(Parameter& parameter) {
  parameter.gradient = {};
  on_host_.let_go(parameter);
}

int64_t RehearsedStep::pinned_host_bytes() const {
  const int64_t saved = saved_ ? saved_->host_bytes() : 0;
  return saved + on_host_.slab_bytes() + model_.pinned_host_bytes();
}

void RehearsedStep::begin(const char* phase, const char* group) {
  run_.memory.site = {.phase = phase};
  run_.memory.group = group;
}

RehearsedStep::Batch RehearsedStep::batch() {
  begin("batch", kInputs);
  const Dims sizes = {spec_.batch_size, spec_.context_length};
  const ShapeTensor targets_BS = empty(run_, sizes, DType::kInt64);
  return {empty(run_, sizes, DType::kInt64), targets_BS};
}

void RehearsedStep::run() {
  begin_moved_step();
  const Batch data = batch();
  on_host_.begin_step();
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
  if (model_.stage().is_one_of_several()) return run_stage(data);
  free_gradients();
  ShapeTensor logits_BSV;
  ShapeTensor loss;
  ShapeTensor mean_loss;
  for (int64_t i = 0; i < micro_batches_; ++i) {
    logits_BSV = loss = {};  // of the part before
    loss = forward_and_loss(part_of(data), &logits_BSV);
    backward_from(loss, i + 1 == micro_batches_);
    if (micro_batches_ > 1 && i == 0) mean_loss = empty(run_, {}, DType::kFp32);
  }
  finish_gradients();
  return micro_batches_ > 1 ? mean_loss : loss.detach();
}

// Like Step::forward() and Step::backward() of a stage.
ShapeTensor RehearsedStep::run_stage(const Batch& data) {
  free_gradients();
  ShapeTensor mean_loss;
  const int64_t token_parts = spec_.sequence_parallel ? model_.tensors()->ranks() : 1;
  const Dims sizes = {spec_.batch_size / micro_batches_, spec_.context_length / token_parts,
                      model_config(spec_).d_model};
  const StageShapeCalls calls = {
      .forward =
          [&](int64_t chunk, int64_t /*micro_batch*/, const ShapeTensor& x_BSD) {
            return forward_of_chunk(chunk, part_of(data), x_BSD);
          },
      .backward =
          [&](ShapeTensor& output, const ShapeTensor& gradient, bool last) {
            if (saved_) saved_->begin_backward();
            backward_from(output, gradient, last);
          },
      .with_loss =
          [&](const ShapeTensor& loss) {
            if (mean_loss.defined()) return;
            mean_loss = micro_batches_ > 1 ? empty(run_, {}, DType::kFp32) : loss.detach();
          }};
  model_.stage().run(run_, sizes, model_.weight_type(), calls);
  finish_gradients();
  return mean_loss;
}

ShapeTensor RehearsedStep::forward_of_chunk(int64_t chunk, const Batch& part,
                                            const ShapeTensor& x_BSD) {
  const RehearsedAutocast autocast(run_, autocast_);
  const RehearsedSaving saving(run_, saved_.get());
  begin("forward", kActivations);
  const StageShapes& stage = model_.stage();
  if (saved_) saved_->begin_forward(stage.backward_follows());
  if (model_.shards() != nullptr && stage.is_first(chunk)) model_.shards()->begin_forward();
  const LayerSpan span = stage.blocks(chunk);
  ShapeTensor y_BSD = stage.is_first(chunk) ? model_.embed(part.tokens_BS) : x_BSD;
  y_BSD = model_.blocks(span.first, span.end, y_BSD, /*in_groups=*/true);
  if (!stage.is_last(chunk)) return y_BSD;
  y_BSD = model_.head(model_.final_norm(y_BSD));
  begin("loss", kActivations);
  if (head_ == Head::kPolicy) y_BSD = with_probabilities(y_BSD);
  return model_.loss(y_BSD, part.targets_BS);
}

void RehearsedStep::finish_gradients() {
  if (model_.shards() != nullptr) model_.shards()->finish();
  if (spec_.mesh.ranks() > 1) count_added_gradients(run_, spec_, model_);
  if (updates_) update();
  // Like train/offload/states/offloaded_optimizer.cpp settles what it multiplies by.
  const bool asks_all = spec_.max_grad_norm > 0 || spec_.precision == Precision::kFp16;
  if (offloads_optimizer(spec_) && asks_all) {
    run_.memory.site = {.phase = "optimizer"};
    count_number(run_, spec_, "squared norm", DType::kFp64);
  }
  if (offloads_optimizer(spec_) && model_.shards() != nullptr) {
    begin("optimizer", kOptimizerTemporaries);
    model_.shards()->end_update();
  }
}

RehearsedStep::Batch RehearsedStep::part_of(const Batch& whole) const {
  if (micro_batches_ == 1) return whole;
  const int64_t sequences = spec_.batch_size / micro_batches_;
  return {narrow(whole.tokens_BS, 0, sequences), narrow(whole.targets_BS, 0, sequences)};
}

void RehearsedStep::update() {
  run_.memory.site = {.phase = "optimizer"};
  if (spec_.precision == Precision::kFp16) {
    count_number(run_, spec_, "not finite", DType::kInt32);
    count_copies(run_, spec_);
  }
  if (spec_.max_grad_norm > 0) clip();
  begin("optimizer", kOptimizerTemporaries);
  if (optimizer_) optimizer_->step();
  if (model_.shards() != nullptr) model_.shards()->end_update();
}

// Like train/techniques/clipping.cpp: a number for each gradient, which on CUDA is the sum of its
// chunks, and all of them in a row. Ranks that share matrices have one of them count what all have.
void RehearsedStep::clip() {
  begin("clipping", kTemporaries);
  count_number(run_, spec_, "squared norm", DType::kFp32);
  run_.memory.site.operation = "_foreach_norm";
  const TensorShapes* const tensors = model_.tensors();
  std::vector<const Parameter*> counted;
  for (const Parameter* parameter : model_.updated()) {
    if (tensors == nullptr || tensors->counts(parameter->name)) counted.push_back(parameter);
  }
  if (counted.empty()) return;
  int64_t chunks = 0;
  for (const Parameter* parameter : counted) {
    chunks = std::max(chunks, foreach_chunks(parameter->value.elements()));
  }
  const auto count = static_cast<int64_t>(counted.size());
  const DType dtype = model_.weight_type();
  std::vector<ShapeTensor> norms;
  {
    const ShapeTensor of_chunks = empty(run_, {count * chunks}, DType::kFp32);
    for (int64_t i = 0; i < count; ++i) norms.push_back(empty(run_, {}, dtype));
  }
  run_.memory.site.operation = "stack";
  const ShapeTensor all = empty(run_, {count}, dtype);
  run_.memory.site.operation = "linalg_vector_norm";
  const ShapeTensor norm = empty(run_, {}, dtype);
}

ShapeTensor RehearsedStep::logits(const Batch& data) {
  if (model_.shards() != nullptr) model_.shards()->begin_forward();
  return model_.forward(data.tokens_BS);
}

ShapeTensor RehearsedStep::forward(const Batch& data) {
  const RehearsedAutocast autocast(run_, autocast_);
  const RehearsedSaving saving(run_, saved_.get());
  begin("forward", kActivations);
  return logits(data);
}

ShapeTensor RehearsedStep::forward_and_loss(const Batch& data, ShapeTensor* logits_BSV) {
  const RehearsedAutocast autocast(run_, autocast_);
  const RehearsedSaving saving(run_, saved_.get());
  begin("forward", kActivations);
  *logits_BSV = logits(data);
  begin("loss", kActivations);
  if (head_ == Head::kPolicy) *logits_BSV = with_probabilities(*logits_BSV);
  return model_.loss(*logits_BSV, data.targets_BS);
}

void RehearsedStep::backward_from(ShapeTensor& loss, bool last) {
  backward_from(loss, ShapeTensor(), last);
}

// gradient: of the output; none of a loss.
void RehearsedStep::backward_from(ShapeTensor& output, const ShapeTensor& gradient, bool last) {
  begin("backward", kTemporaries);
  if (model_.shards() != nullptr) {
    model_.shards()->begin_backward(last);
    if (!gradient.defined()) model_.shards()->begin_backward_of_loss();
  }
  if (gradient.defined()) {
    backward(output, gradient);
    end_backward();
  } else {
    begin_backward(micro_batches_ == 1 ? output : div_scalar(output));
  }
}

void RehearsedStep::begin_backward(ShapeTensor root) {
  if (!loss_scaler_.empty()) root = mul(root, loss_scaler_.front());
  const ShapeTensor ones = empty(run_, {}, root.dtype);
  backward(root, ones);
  end_backward();
}

}  // namespace headroom
