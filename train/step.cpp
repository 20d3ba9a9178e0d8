#include "train/step.h"

#include "model/loss.h"
#include "train/precision.h"
#include "train/techniques/clipping.h"
#include "train/techniques/micro_batches.h"

namespace headroom {

using torch::Tensor;

Step::Step(Transformer model, Mode mode, Precision precision, torch::Device device)
    : model_(std::move(model)),
      mode_(mode),
      precision_(precision),
      device_(device),
      parameters_(model_->parameters()),
      names_(model_->named_parameters().keys()) {
  run_block = [](int64_t, TransformerBlock& block, const Tensor& x_BSD) { return block(x_BSD); };
}

void Step::listen(ScopeListener* scopes, MemoryClaims* claims) {
  scopes_ = scopes;
  claims_ = claims;
  claim_what_is_there();
}

void Step::claim_what_is_there() {
  if (taker) taker->listen(scopes_, claims_);
  if (parameters) parameters->listen(claims_, model_->named_parameters());
  if (claims_ == nullptr) {
    if (replicas) replicas->listen(nullptr);
    return;
  }
  claim(claims_, Category::kOther, model_->tables(), {"rotary cos", "rotary sin"});
  claim(claims_, Category::kParameters, parameters_, names_);
  claim_gradients();
  if (replicas) replicas->listen(claims_);
  if (loss_scaler) claim(claims_, Category::kOther, loss_scaler->state(), {"loss scaler"});
  claim_stores();
  if (optimizer) {
    claim(claims_, Category::kMasterWeights, optimizer->master_weights(), update_names);
    claim(claims_, Category::kOptimizerState, optimizer->state(), update_names);
  }
  claim_workspaces(claims_);
}

NamedTensors Step::weights() const {
  return tensors ? tensors->whole(own_weights(), device_) : own_weights();
}

// Of a rank of several that share matrices, its part of them.
NamedTensors Step::own_weights() const {
  std::vector<Tensor> masters;
  if (optimizer) masters = optimizer->master_weights();
  if (taker) masters = taker->master_weights();
  NamedTensors named;
  const NamedTensors whole = replicas ? replicas->whole_weights(masters) : NamedTensors();
  for (size_t i = 0; i < names_.size(); ++i) {
    if (!whole.is_empty()) {
      named.insert(names_[i], whole[names_[i]]);
      continue;
    }
    const Tensor& weight = masters.empty() ? parameters_[i] : masters[i];
    named.insert(names_[i], parameters ? parameters->on_host(weight) : weight);
  }
  return named;
}

Tensor Step::run(const Batch& batch) {
  begin_step();
  claim(claims_, Category::kOther, {batch.tokens_BS, batch.targets_BS}, {"tokens", "targets"});
  Tensor loss = run_mode(batch);
  claim_workspaces(claims_);
  return loss;
}

Tensor Step::run_mode(const Batch& batch) {
  if (mode_ == Mode::kForward) {
    const torch::NoGradGuard no_grad;
    forward(batch, ScopeKind::kPhase);
    return {};
  }
  if (mode_ == Mode::kGenerate) {
    const std::vector<int64_t> lengths(static_cast<size_t>(batch.tokens_BS.size(0)),
                                       batch.tokens_BS.size(1));
    generate({batch.tokens_BS, lengths});
    return {};
  }
  if (mode_ == Mode::kForwardGrad) {
    // What backward would need lives as long as the logits, then goes.
    forward(batch, ScopeKind::kSaving);
    return {};
  }
  if (pipeline) return run_stage(batch);
  free_gradients();
  // Both live to the end of the step, as the local variables of a training loop do.
  Tensor logits_BSV;
  Tensor loss;
  BatchLoss batch_loss(micro_batches);
  for (int64_t i = 0; i < micro_batches; ++i) {
    logits_BSV = loss = Tensor();  // of the part before
    loss = forward_and_loss(part_of(batch, i, micro_batches), &logits_BSV);
    backward(loss, Tensor(), micro_batches, i + 1 == micro_batches);
    batch_loss.add(loss, claims_);
  }
  finish_gradients(static_cast<size_t>(micro_batches));
  return batch_loss.mean();
}

// The mean loss where the last piece of the model is, elsewhere undefined.
Tensor Step::run_stage(const Batch& batch) {
  free_gradients();
  BatchLoss batch_loss(micro_batches);
  const int64_t tokens = batch.tokens_BS.size(1) / (tensors ? tensors->token_parts() : 1);
  const std::vector<int64_t> sizes = {batch.tokens_BS.size(0) / micro_batches, tokens,
                                      model_->d_model()};
  const StageCalls calls = {
      .forward =
          [&](int64_t chunk, int64_t micro_batch, const Tensor& x_BSD) {
            return forward_of_chunk(chunk, part_of(batch, micro_batch, micro_batches), x_BSD);
          },
      .backward =
          [&](const Tensor& output, const Tensor& gradient, bool last) {
            if (saved) saved->begin_backward();
            backward(output, gradient, micro_batches, last);
          },
      .with_loss = [&](const Tensor& loss) { batch_loss.add(loss, claims_); }};
  pipeline->run(sizes, parameters_.front().options().requires_grad(false), calls);
  finish_gradients(static_cast<size_t>(micro_batches));
  return batch_loss.mean();
}

Tensor Step::forward_of_chunk(int64_t chunk, const Batch& part, const Tensor& x_BSD) {
  const AutocastGuard autocast(precision_, device_.type(), claims_, parameters_);
  const SavingGuard saving(saved.get());
  Tensor y_BSD;
  {
    const StepScope phase(scopes_, {ScopeKind::kSaving, "forward"});
    if (saved) saved->begin_forward(pipeline->backward_follows());
    if (replicas && pipeline->is_first(chunk)) replicas->begin_forward();
    const LayerSpan span = pipeline->blocks(chunk);
    y_BSD = pipeline->is_first(chunk) ? model_->embed(part.tokens_BS) : x_BSD;
    y_BSD = model_->blocks(span.first, span.end, y_BSD, block_in_scope(), run_groups);
    if (pipeline->is_last(chunk)) y_BSD = model_->output(y_BSD);
  }
  claim_stores();
  if (!pipeline->is_last(chunk)) return y_BSD;
  const StepScope phase(scopes_, {ScopeKind::kSaving, "loss"});
  return loss_of(y_BSD, part.targets_BS);
}

Tensor Step::run(const std::vector<LossPart>& parts) {
  TORCH_CHECK(has_backward(mode_), "mode ", to_string(mode_), " has no backward for a loss");
  TORCH_CHECK(!parts.empty(), "a run needs a part");
  TORCH_CHECK(parts.size() == 1 || !taker || taker->adds_up(),
              "gradients that are released in backward do not add up: ", parts.size(), " parts");
  begin_step();
  free_gradients();
  Tensor sum;
  for (const LossPart& part : parts) {
    claim(claims_, Category::kOther, part.tokens_BS, "tokens");
    const Tensor loss = run_part(part, &part == &parts.back());
    sum = sum.defined() ? sum + loss : loss;
  }
  finish_gradients(parts.size());
  claim_workspaces(claims_);
  return sum;
}

Tensor Step::infer(const Tensor& tokens_BS, const OfHidden& use, const Pass* pass) {
  begin_step();
  std::optional<PassScope> tokens;
  if (pass != nullptr) tokens.emplace(model_, *pass);
  const torch::NoGradGuard no_grad;
  const AutocastGuard autocast(precision_, device_.type(), claims_, parameters_);
  const StepScope phase(scopes_, {ScopeKind::kPhase, "forward"});
  claim(claims_, Category::kOther, tokens_BS, "tokens");
  if (replicas) replicas->begin_forward();
  Tensor used = use(model_, model_->hidden(tokens_BS, block_in_scope()));
  claim_workspaces(claims_);
  return used;
}

// As a run begins, not as it ends: zero_grad() opens the turn of a training loop, and what the
// allocator has cached when a step begins is part of its peak.
void Step::free_gradients() {
  for (Tensor& parameter : parameters_) parameter.mutable_grad() = Tensor();
}

// A taker first: of a step that failed copies may be on the way out of what replicas let go.
void Step::begin_step() {
  if (taker) taker->begin_step();
  if (parameters) parameters->begin_step();
  if (replicas) replicas->begin_step();
}

void Step::finish_gradients(size_t backwards) {
  if (replicas) replicas->finish();
  if (tensors && optimizer) tensors->finish_gradients(update_names, optimizer->gradients());
  if (optimizer) update();
  if (taker) update_by_taker(backwards);
}

// Replicas have looked for themselves whether gradients are missing.
void Step::update_by_taker(size_t backwards) {
  if (!replicas) taker->check_complete(backwards);
  if (!taker->finish_step(loss_scaler.get())) {
    ++skipped_steps_;
  } else if (replicas) {
    const StepScope phase(scopes_, {ScopeKind::kPhase, "optimizer"});
    replicas->end_update();
  }
}

// Detached, in FP32. What its graph keeps is gone when it returns.
Tensor Step::run_part(const LossPart& part, bool last) {
  std::optional<PassScope> tokens;  // until backward has ended, which may compute forward again
  if (part.pass) tokens.emplace(model_, *part.pass);
  Tensor loss;
  {
    const AutocastGuard autocast(precision_, device_.type(), claims_, parameters_);
    const SavingGuard saving(saved.get());
    Tensor hidden_BSD;
    {
      const StepScope phase(scopes_, {ScopeKind::kSaving, "forward"});
      if (replicas) replicas->begin_forward();
      hidden_BSD = model_->hidden(part.tokens_BS, block_in_scope(), run_groups);
    }
    claim_stores();
    const StepScope phase(scopes_, {ScopeKind::kSaving, "loss"});
    loss = part.loss(model_, hidden_BSD);
  }
  backward(loss, Tensor(), 1, last);
  return loss.detach().to(torch::kFloat32);
}

// What it saves into may have grown.
void Step::claim_stores() {
  if (claims_ == nullptr || !saved) return;
  claim(claims_, Category::kOther, saved->stores(), {"activations on the host"});
}

Tensor Step::forward(const Batch& batch, ScopeKind kind) {
  const AutocastGuard autocast(precision_, device_.type(), claims_, parameters_);
  const SavingGuard saving(saved.get());
  Tensor logits_BSV = logits(batch, kind);
  claim_stores();
  return logits_BSV;
}

Tensor Step::forward_and_loss(const Batch& batch, Tensor* logits_BSV) {
  const AutocastGuard autocast(precision_, device_.type(), claims_, parameters_);
  const SavingGuard saving(saved.get());
  *logits_BSV = logits(batch, ScopeKind::kSaving);
  claim_stores();
  const StepScope phase(scopes_, {ScopeKind::kSaving, "loss"});
  return loss_of(*logits_BSV, batch.targets_BS);
}

Tensor Step::loss_of(const Tensor& logits_BSV, const Tensor& targets_BS) const {
  return tensors ? tensors->loss(logits_BSV, targets_BS) : cross_entropy(logits_BSV, targets_BS);
}

// One guard for all passes: what autocast casts without a graph lives until it is gone.
Generated Step::generate(const Prompts& prompts) {
  TORCH_CHECK(generation.has_value(), "this step was not built for generation");
  const torch::NoGradGuard no_grad;
  const AutocastGuard autocast(precision_, device_.type(), claims_, parameters_);
  // Autocast keeps no cast in inference mode, and would cast weights anew for every product; who
  // moves blocks' parameters keeps what he moves them with.
  const bool in_inference_mode = !uses_autocast(precision_) && !parameters;
  Generator generator(
      model_, *generation, [this](const Tensor& tokens_1T) { return run_model(tokens_1T); },
      in_inference_mode);
  Generated generated = generator.run(prompts, scopes_, claims_);
  graph_pool_bytes_ = generated.graph_pool_bytes;
  return generated;
}

Tensor Step::logits(const Batch& batch, ScopeKind kind) {
  const StepScope phase(scopes_, {kind, "forward"});
  return run_model(batch.tokens_BS);
}

Tensor Step::run_model(const Tensor& tokens_BS) {
  if (replicas) replicas->begin_forward();
  return model_->forward(tokens_BS, block_in_scope(), run_groups);
}

BlockRunner Step::block_in_scope() {
  return [this](int64_t index, TransformerBlock& block, const Tensor& x_BSD) {
    const StepScope scope(scopes_, Scope::block(index));
    return run_block(index, block, x_BSD);
  };
}

void Step::backward(const Tensor& output, const Tensor& gradient, int64_t parts, bool last) {
  const StepScope phase(scopes_, {ScopeKind::kBackward, "backward"});
  if (replicas) replicas->begin_backward(last);
  if (replicas && !gradient.defined()) replicas->begin_backward_of_loss();
  if (gradient.defined()) {
    output.backward(gradient);
  } else {
    Tensor root = parts == 1 ? output : output / parts;
    if (loss_scaler) root = loss_scaler->scale(root);
    root.backward();
  }
  if (replicas) replicas->end_backward();
  if (taker) {
    taker->end_backward();
  } else {
    claim_gradients();
  }
}

void Step::claim_gradients() {
  if (claims_ == nullptr) return;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    claim(claims_, Category::kGradients, parameters_[i].grad(), names_[i]);
  }
}

void Step::clip() {
  const StepScope phase(scopes_, {ScopeKind::kPhase, "clipping"});
  const std::vector<Tensor> gradients = optimizer->gradients();
  if (!replicas && !tensors && !pipeline) {
    clip_gradients(gradients, max_grad_norm);
    return;
  }
  // What several ranks have is one's of them to count.
  std::vector<Tensor> counted;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!tensors || tensors->counts(update_names[i])) counted.push_back(gradients[i]);
  }
  clip_gradients(gradients, max_grad_norm,
                 {counted, [this](Tensor& number) { add_up_over_ranks(number); }, device_});
}

void Step::add_up_over_ranks(Tensor& number) {
  if (replicas) replicas->add_up(number);
  if (tensors) tensors->ranks().all_reduce({number})->wait();
  if (pipeline) pipeline->stages().all_reduce({number})->wait();
}

double Step::sum_over_ranks(double here) {
  Tensor number = torch::full({}, here, torch::dtype(torch::kFloat64).device(device_));
  add_up_over_ranks(number);
  return number.item<double>();
}

bool Step::all_ranks(bool here) {
  if (replicas) here = replicas->all(here);
  if (tensors) here = tensors->ranks().all(here, device_);
  if (pipeline) here = pipeline->stages().all(here, device_);
  return here;
}

void Step::update() {
  const StepScope phase(scopes_, {ScopeKind::kPhase, "optimizer"});
  bool finite = !loss_scaler || loss_scaler->unscale(optimizer->gradients());
  if (loss_scaler && (replicas || tensors || pipeline)) {
    finite = all_ranks(finite);
    loss_scaler->found(finite);
  }
  if (max_grad_norm > 0) clip();
  if (finite) {
    optimizer->step();
    if (replicas) replicas->end_update();
  } else {
    ++skipped_steps_;
  }
  if (loss_scaler) loss_scaler->update();
  if (claims_ != nullptr)
    claim(claims_, Category::kOptimizerState, optimizer->state(), update_names);
}

}  // namespace headroom
