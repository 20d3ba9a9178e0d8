// A step's other entry points beside a run with its own loss: as Step::run(parts), infer() and
// generate().
#include <algorithm>
#include <utility>

#include "profiling/theory/peak.h"
#include "profiling/theory/rehearsal/step.h"

namespace headroom {
namespace {

// Sets the owner of the following allocations, and restores the earlier one.
class Owning {
 public:
  Owning(Memory& memory, const char* owner)
      : memory_(memory),
        owner_(std::exchange(memory.owner, owner)),
        site_(memory.site),
        group_(memory.group) {}
  ~Owning() {
    memory_.owner = owner_;
    memory_.site = site_;
    memory_.group = group_;
  }
  Owning(const Owning&) = delete;
  Owning& operator=(const Owning&) = delete;

 private:
  Memory& memory_;
  const char* owner_;
  AllocationSite site_;
  const char* group_;
};

// Like PassScope.
class ShapePassScope {
 public:
  ShapePassScope(RehearsedModel& model, const ShapeLayout& pass) : model_(model) {
    model_.set_pass(&pass);
  }
  ~ShapePassScope() { model_.set_pass(nullptr); }
  ShapePassScope(const ShapePassScope&) = delete;
  ShapePassScope& operator=(const ShapePassScope&) = delete;

 private:
  RehearsedModel& model_;
};

}  // namespace

bool repeats_others(const std::vector<int64_t>& tokens, size_t pass) {
  constexpr size_t kThatDiffer = 3;
  if (pass < kThatDiffer || pass + 1 == tokens.size()) return false;
  const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(pass - kThatDiffer);
  return std::all_of(begin, begin + kThatDiffer,
                     [&](int64_t before) { return before == tokens[pass]; });
}

void RehearsedStep::free_gradients() {
  for (Parameter* parameter : model_.parameters()) parameter->gradient = {};
}

std::vector<std::shared_ptr<Storage>> RehearsedStep::weight_storages() {
  std::vector<std::shared_ptr<Storage>> all;
  for (Parameter* parameter : model_.parameters_that_stay()) {
    all.push_back(parameter->value.storage);
  }
  return all;
}

std::vector<std::shared_ptr<Storage>> RehearsedStep::state_storages() {
  std::vector<RehearsedOptimizer*> optimizers;
  if (optimizer_) optimizers.push_back(optimizer_.get());
  for (const RehearsedOptimizerPtr& released : released_) optimizers.push_back(released.get());
  std::vector<std::shared_ptr<Storage>> all;
  const auto add = [&](const std::vector<ShapeTensor*>& tensors) {
    for (const ShapeTensor* tensor : tensors) {
      if (tensor->defined()) all.push_back(tensor->storage);
    }
  };
  for (RehearsedOptimizer* optimizer : optimizers) add(optimizer->master_weights());
  for (RehearsedOptimizer* optimizer : optimizers) add(optimizer->state());
  return all;
}

void RehearsedStep::run(const std::vector<ShapeLossPart>& parts) {
  const Owning owning(run_.memory, owner_);
  model_.begin_step();
  free_gradients();
  std::vector<int64_t> tokens;
  tokens.reserve(parts.size());
  for (const ShapeLossPart& part : parts) tokens.push_back(part.tokens_1T.size(1));
  ShapeTensor sum;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (repeats_others(tokens, i)) continue;
    const ShapeTensor loss = run_part(parts[i]);
    sum = sum.defined() ? add(sum, loss) : loss;
  }
  if (updates_) update();
}

ShapeTensor RehearsedStep::run_part(const ShapeLossPart& part) {
  const ShapePassScope tokens(model_, *part.pass);
  ShapeTensor loss;
  {
    const RehearsedAutocast autocast(run_, autocast_);
    const RehearsedSaving saving(run_, saved_.get());
    begin("forward", kActivations);
    const ShapeTensor hidden = model_.hidden(part.tokens_1T, /*in_groups=*/true);
    begin("loss", kActivations);
    loss = part.loss(model_, hidden);
  }
  begin("backward", kTemporaries);
  begin_backward(loss);
  return loss.detach();
}

ShapeTensor RehearsedStep::infer(const ShapeTensor& tokens_1T, const ShapeOfHidden& use,
                                 const ShapeLayout& pass) {
  const Owning owning(run_.memory, owner_);
  model_.begin_step();
  const ShapePassScope tokens(model_, pass);
  const GradMode no_grad(run_, false);
  const RehearsedAutocast autocast(run_, autocast_);
  begin("forward", kTemporaries);
  return use(model_, model_.hidden(tokens_1T, /*in_groups=*/false));
}

ShapeTensor RehearsedStep::generate(const ShapePrompts& prompts, const ShapeGeneration& settings) {
  const Owning owning(run_.memory, owner_);
  model_.begin_step();
  const GradMode no_grad(run_, false);
  const RehearsedAutocast autocast(run_, autocast_);
  begin("generation", kTemporaries);
  RehearsedGenerator generator(run_, model_, settings);
  return generator.generate(prompts);
}

}  // namespace headroom
