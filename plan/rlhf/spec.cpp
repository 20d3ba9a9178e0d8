#include "plan/rlhf/spec.h"

#include <algorithm>
#include <vector>

#include "plan/cost/model_cost.h"
#include "text/quantity.h"
#include "train/settings/spec.h"

namespace headroom {
namespace {

std::vector<const ModelConfig*> models_of(const RlhfSpec& spec) {
  std::vector<const ModelConfig*> models = {&spec.actor};
  if (spec.critic) models.push_back(&*spec.critic);
  if (spec.reward) models.push_back(&*spec.reward);
  return models;
}

void check_layout(const RlhfSpec& spec) {
  const Layout& layout = spec.setup.layout;
  if (layout.ranks() != spec.num_gpus) {
    throw UsageError("--num-gpus", std::to_string(spec.num_gpus),
                     "is not tp x pp x dp = " + std::to_string(layout.tp) + " x " +
                         std::to_string(layout.pp) + " x " + std::to_string(layout.dp),
                     "--num-gpus 8 --tp 4 --pp 1 --dp 2");
  }
  for (const ModelConfig* model : models_of(spec)) {
    check_tensor_parallel(layout.tp, *model);
    if (layout.pp > model->layers) {
      throw UsageError("--pp", std::to_string(layout.pp),
                       "is more stages than " + model->name + " has layers; allowed: 1 to " +
                           std::to_string(model->layers),
                       "--pp 2");
    }
  }
}

void check_sequence(const RlhfSpec& spec) {
  if (spec.setup.micro_batch_size > spec.batch_size) {
    throw UsageError("--micro-batch-size", std::to_string(spec.setup.micro_batch_size),
                     "is more than the batch of " + std::to_string(spec.batch_size) +
                         " sequences; allowed: 1 to " + std::to_string(spec.batch_size),
                     "--batch-size 8 --micro-batch-size 2");
  }
  if (spec.response_len >= spec.seq_len) {
    throw UsageError(
        "--response-len", std::to_string(spec.response_len),
        "leaves no prompt in a sequence of " + std::to_string(spec.seq_len) + " tokens",
        "--seq-len 2048 --response-len 1024");
  }
  for (const ModelConfig* model : models_of(spec)) {
    if (model->max_context > 0 && spec.seq_len > model->max_context) {
      throw UsageError("--seq-len", std::to_string(spec.seq_len),
                       "is beyond the context of " + model->name + "; allowed: 1 to " +
                           std::to_string(model->max_context),
                       "--seq-len " + std::to_string(model->max_context));
    }
  }
}

constexpr double kMost = 4.6e18;  // 2^62

// Upper bounds of every sum, in floating point so that no product overflows.
struct Bounds {
  double states = 0;
  double activations = 0;
};

Bounds bounds_of(const RlhfSpec& spec) {
  Bounds bounds;
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const double tokens = number(spec.batch_size) * number(spec.seq_len);
  for (const ModelConfig* model : models_of(spec)) {
    const double d = number(model->d_model);
    const double layer = 4 * d * d + 3 * d * number(model->d_ff);
    constexpr double kPerParameter = 32 * kGpusPerNode;  // a node's sum is printed too
    bounds.states +=
        kPerParameter * (number(model->layers) * layer + 2 * d * number(model->vocab_size));
    const double scores =
        keeps_scores(spec.attention) ? number(model->heads) * number(spec.seq_len) : 0;
    bounds.activations +=
        tokens * (number(model->layers) * 64 * (d + number(model->d_ff) + scores) +
                  32 * number(model->vocab_size));
  }
  bounds.activations *= number(spec.setup.layout.pp);
  return bounds;
}

void check_magnitude(const RlhfSpec& spec) {
  const Bounds bounds = bounds_of(spec);
  if (bounds.states > kMost) {
    throw UsageError("--model-size", spec.actor.name, "has states beyond 2^62 bytes",
                     "--model-size 405b");
  }
  if (bounds.activations > kMost) {
    throw UsageError(
        "--batch-size", std::to_string(spec.batch_size),
        "with --seq-len " + std::to_string(spec.seq_len) + " makes activations beyond 2^62 bytes",
        "--batch-size 4 --seq-len 2048");
  }
}

}  // namespace

OptimizerImpl RlhfSpec::implementation() const {
  if (optimizer_impl) return *optimizer_impl;
  const std::vector<OptimizerImpl>& all = info_of(optimizer).implementations;
  const bool fused = std::find(all.begin(), all.end(), OptimizerImpl::kFused) != all.end();
  return fused ? OptimizerImpl::kFused : OptimizerImpl::kReference;
}

int64_t RlhfSpec::micro_batch() const {
  return setup.micro_batch_size > 0 ? std::min(setup.micro_batch_size, batch_size) : batch_size;
}

int64_t RlhfSpec::micro_batches() const { return (batch_size + micro_batch() - 1) / micro_batch(); }

const EnumWords<Reference>& words_of(Reference) {
  static const EnumWords<Reference> kWords = {
      {Reference::kResident, "resident", "on the GPU"},
      {Reference::kOffload, "offload", "in host memory, copied layer by layer"},
      {Reference::kNone, "none", "no KL term"}};
  return kWords;
}

std::string to_string(Reference reference) { return word_of(reference); }

bool is_computable(const RlhfSpec& spec) {
  const Bounds bounds = bounds_of(spec);
  return bounds.states <= kMost && bounds.activations <= kMost;
}

bool tp_divides_all(const RlhfSpec& spec, int64_t tp) {
  const std::vector<const ModelConfig*> models = models_of(spec);
  return std::all_of(models.begin(), models.end(),
                     [&](const ModelConfig* model) { return tp_divides(*model, tp); });
}

Layout usual_layout(const RlhfSpec& spec) {
  Layout layout{.zero = spec.setup.layout.zero,
                .sequence_parallel = spec.setup.layout.sequence_parallel};
  for (int64_t tp = std::min(kGpusPerNode, spec.num_gpus); tp > 1; --tp) {
    if (spec.num_gpus % tp == 0 && tp_divides_all(spec, tp)) {
      layout.tp = tp;
      break;
    }
  }
  layout.dp = spec.num_gpus / layout.tp;
  return layout;
}

void validate(const RlhfSpec& spec) {
  check_sequence(spec);
  check_magnitude(spec);
  check_layout(spec);
  // Refuses an implementation that the optimizer lacks.
  validate(RunSpec{.optimizer = spec.optimizer, .optimizer_impl = spec.implementation()});
  check_checkpoint(spec.setup.checkpoint, spec.actor.layers);
  if (spec.critic) check_checkpoint(spec.setup.checkpoint, spec.critic->layers);
}

}  // namespace headroom
