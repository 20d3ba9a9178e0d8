#include <algorithm>
#include <functional>
#include <utility>

#include "profiling/theory/rehearsal/ppo/iteration.h"
#include "profiling/theory/rehearsal/ppo/losses.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

// The allocator's blocks change less and less from one update to the next.
constexpr int64_t kMostUpdates = 32;

struct PassLoss {
  ShapeTensor loss;
  ShapeTensor reported, clip_fraction, approx_kl, entropy;
};
using LossOf = std::function<PassLoss(RehearsedModel& model, const ShapeTensor& hidden_1ND,
                                      const ShapeRows& rows, const ShapeTensor& weights_T)>;

struct Sum {
  ShapeTensor total;
  void add(const ShapeTensor& more) {
    if (!more.defined()) return;
    total = total.defined() ? headroom::add(total, more.detach()) : more.detach();
  }
};

class Training {
 public:
  Training(const ShapeExperience& experience, const PpoSpec& spec, LossOf loss_of)
      : experience_(experience), spec_(spec), loss_of_(std::move(loss_of)) {}

  void run(RehearsedStep& step) {
    const int64_t sequences = experience_.sequences();
    const int64_t updates = std::min(spec_.epochs * spec_.minibatches, kMostUpdates);
    for (int64_t i = 0; i < updates; ++i) {
      const int64_t more = i % spec_.minibatches < sequences % spec_.minibatches ? 1 : 0;
      const std::vector<ShapeLossPart> parts = parts_of(sequences / spec_.minibatches + more);
      step.run(parts);
    }
    step.free_gradients();
  }

 private:
  ShapeTensor weights_of(int64_t sequences) const {
    Run& run = *experience_.mask_BR.run;
    const ShapeTensor chosen_B = integers(run, sequences);
    const ShapeTensor mask = index_select(experience_.mask_BR, 0, chosen_B);
    ShapeTensor weights_BR = experience_.zeros_BR();
    token_weights(spec_.loss_agg_mode, mask);
    return weights_BR;
  }

  std::vector<ShapeLossPart> parts_of(int64_t sequences) {
    const ShapeTensor weights_BR = weights_of(sequences);
    std::vector<ShapeLossPart> parts;
    for (const ShapeRows& rows :
         passes_of(experience_, sequences, spec_.max_tokens_per_micro_batch)) {
      const auto loss = [this, rows, weights_T = of_rows(weights_BR, rows)](
                            RehearsedModel& model, const ShapeTensor& hidden_1ND) {
        const PassLoss made = loss_of_(model, hidden_1ND, rows, weights_T);
        loss_sum_.add(made.reported);
        clip_fraction_.add(made.clip_fraction);
        approx_kl_.add(made.approx_kl);
        entropy_.add(made.entropy);
        return made.loss;
      };
      parts.push_back({rows.tokens_1S, loss, rows.pass});
    }
    return parts;
  }

  const ShapeExperience& experience_;
  const PpoSpec& spec_;
  LossOf loss_of_;
  Sum loss_sum_, clip_fraction_, approx_kl_, entropy_;
};

}  // namespace

void train_critic(const ShapeExperience& experience, RehearsedStep& critic, const PpoSpec& spec) {
  const LossOf loss_of = [&](RehearsedModel& model, const ShapeTensor& hidden_1ND,
                             const ShapeRows& rows, const ShapeTensor& weights_T) {
    const ShapeTensor returns_T = of_rows(experience.returns_BR, rows);
    const ShapeTensor old_values_T = of_rows(experience.values_BR, rows);
    const ShapeLoss value = clipped_value_loss(values_of(model, hidden_1ND), old_values_T,
                                               returns_T, weights_T, spec.value_clip != 0);
    return PassLoss{.loss = mul_scalar(value.loss),
                    .reported = value.loss,
                    .clip_fraction = value.clip_fraction};
  };
  Training(experience, spec, loss_of).run(critic);
}

void train_actor(const ShapeExperience& experience, RehearsedStep& actor, const PpoSpec& spec) {
  const bool kl_in_loss = spec.algorithm == PpoAlgorithm::kGrpo && spec.kl_coef != 0;
  const LossOf loss_of = [&](RehearsedModel& model, const ShapeTensor& hidden_1ND,
                             const ShapeRows& rows, const ShapeTensor& weights_T) {
    const ShapeLogProbs now =
        token_log_probs(squeeze(hidden_1ND, 0), model.head_weight().value, rows.targets_T, spec,
                        /*entropy=*/true);
    ShapeLoss policy;
    {
      const ShapeTensor advantages_T = of_rows(experience.advantages_BR, rows);
      const ShapeTensor old_T = of_rows(experience.log_probs_BR, rows);
      policy = clipped_policy_loss(now.log_probs_T, old_T, advantages_T, weights_T);
    }
    const ShapeTensor minus_entropy = entropy_loss(now.entropy_T, weights_T);
    ShapeTensor loss = policy.loss;
    if (spec.entropy_coef != 0) loss = add(loss, mul_scalar(minus_entropy));
    if (kl_in_loss) {
      const ShapeTensor reference_T = of_rows(experience.reference_log_probs_BR, rows);
      loss = add(loss, kl_loss(now.log_probs_T, reference_T, weights_T));
    }
    return PassLoss{.loss = loss,
                    .reported = policy.loss,
                    .clip_fraction = policy.clip_fraction,
                    .approx_kl = policy.approx_kl,
                    .entropy = neg(minus_entropy)};
  };
  Training(experience, spec, loss_of).run(actor);
}

}  // namespace headroom
