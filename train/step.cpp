#include "train/step.h"

#include "model/loss.h"
#include "train/kernels/step_graph.h"
#include "train/techniques/precision.h"

namespace headroom {

using torch::Tensor;

Step::Step(Transformer model, Mode mode, Precision precision, torch::Device device)
    : schedule(std::make_unique<SerialSchedule>(model->block_count())),
      update(std::make_shared<Update>()),
      model_(std::move(model)),
      mode_(mode),
      precision_(precision),
      device_(device),
      parameters_(model_->parameters()),
      names_(model_->named_parameters().keys()) {
  run_block = [](int64_t, TransformerBlock& block, const Tensor& x_BSD) { return block(x_BSD); };
  if (has_backward(mode_)) loss = cross_entropy;
}

void Step::listen(ScopeListener* scopes, MemoryTags* tags) {
  scopes_ = scopes;
  tags_ = tags;
  tag(tags_, Category::kOther, model_->tables(), {"rotary cos", "rotary sin"});
  tag(tags_, Category::kParameters, parameters_, names_);
  tag_gradients(tags_, parameters_, names_);
  hooks.listen(scopes_, tags_);
  update->listen(scopes_, tags_);
  tag_workspaces(tags_);
}

Tensor Step::run(const Batch& batch) {
  return graph ? graph->run(batch) : run(split(batch, micro_batches, loss, loss_of));
}

Tensor Step::run(const std::vector<MicroBatch>& parts) {
  check(parts, mode_, *update);
  const c10::AutoGradMode gradients(builds_graph(mode_));
  update->begin_step();
  hooks.begin_step();
  tag_tokens(tags_, parts);
  free_gradients();
  TotalLoss total(tags_);
  // The returned task lives until the step ends.
  const Task last = schedule->run(
      parts, [&](Task& task) { forward(task); }, [&](Task& task) { backward(task, total); });
  if (has_backward(mode_)) {
    hooks.gradients_ready();
    update->finish(parts.size(), hooks);
  }
  tag_workspaces(tags_);
  return total.loss();
}

void Step::forward(Task& task) {
  task.pass = std::make_unique<PassScope>(model_, task.data->pass.get());
  const AutocastGuard autocast(precision_, device_.type(), tags_, parameters_);
  const SavingGuard saving(saved.get());
  {
    const auto kind = builds_graph(mode_) ? ScopeKind::kSaving : ScopeKind::kPhase;
    const StepScope phase(scopes_, {kind, "forward"});
    hooks.begin_forward(task);
    task.output = run_model(task);
  }
  hooks.end_forward(task);
  if (!task.is_last || !task.data->loss) return;
  {
    const StepScope phase(scopes_, {ScopeKind::kSaving, "loss"});
    task.loss = task.data->loss(model_, task.output);
  }
  if (task.drops_output) task.output = Tensor();
}

Tensor Step::run_model(const Task& task) {
  Tensor x_BSD = task.is_first ? model_->embed(task.data->tokens_BS) : task.input;
  // A pipeline stage holds its input until its blocks have run.
  const Tensor held_BSD = task.is_last ? Tensor() : x_BSD;
  x_BSD = model_->blocks(task.blocks.first, task.blocks.end, std::move(x_BSD), block_in_scope(),
                         run_groups);
  if (!task.is_last || task.data->output == MicroBatch::Output::kBlocks) return x_BSD;
  x_BSD = model_->norm(std::move(x_BSD));
  return task.data->output == MicroBatch::Output::kLogits ? model_->head(x_BSD) : x_BSD;
}

void Step::backward(Task& task, TotalLoss& total) {
  {
    const StepScope phase(scopes_, {ScopeKind::kBackward, "backward"});
    hooks.begin_backward(task);
    if (task.is_last) {
      const Tensor root = update->scale(share_of(task.loss, task.data->parts));
      root.backward();
    } else {
      task.output.backward(task.gradient);
    }
    hooks.end_backward(task);
    update->end_backward(task);
    tag_gradients(tags_, parameters_, names_);
  }
  if (!task.is_last) return;
  const Tensor loss_of_part = task.loss.detach();
  if (task.data->output != MicroBatch::Output::kLogits) task.release();
  total.add(loss_of_part, task.data->parts);
}

// Called at the start of a run, as zero_grad() in a loop: memory cached by then is in the peak.
void Step::free_gradients() {
  for (Tensor& parameter : parameters_) parameter.mutable_grad() = Tensor();
}

BlockRunner Step::block_in_scope() {
  return [this](int64_t index, TransformerBlock& block, const Tensor& x_BSD) {
    const StepScope scope(scopes_, Scope::block(index));
    return run_block(index, block, x_BSD);
  };
}

}  // namespace headroom
