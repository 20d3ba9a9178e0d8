#include "train/ppo/phases/training.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "train/ppo/losses/losses.h"
#include "train/ppo/phases/passes.h"
#include "train/ppo/phases/scoring.h"
#include "train/settings/device/real_device.h"

namespace headroom {

using torch::Tensor;

namespace {

// The loss of one pass, and its reported scalars, as shares of the minibatch's.
struct PassLoss {
  Tensor loss;  // in the graph
  Tensor reported, clip_fraction, approx_kl, entropy;
};
using LossOf = std::function<PassLoss(Transformer& model, const Tensor& hidden_1ND,
                                      const PassRows& rows, const Tensor& weights_T)>;

// Over all passes, on the device: nothing waits before the end.
struct Sum {
  Tensor total;
  void add(const Tensor& more) {
    if (more.defined()) total = total.defined() ? total + more.detach() : more.detach();
  }
  double over(int64_t count) const {
    return total.defined() ? value_of(total) / static_cast<double>(count) : 0;
  }
};

class Training {
 public:
  Training(const Experience& experience, const PpoSpec& spec, LossOf loss_of)
      : experience_(experience), spec_(spec), loss_of_(std::move(loss_of)) {}

  TrainingReport run(Step& step, uint64_t seed) {
    for (int64_t epoch = 0; epoch < spec_.epochs; ++epoch) {
      for (const Indices& minibatch :
           shuffled_minibatches(experience_.sequences(), spec_.minibatches, seed, epoch)) {
        const std::vector<MicroBatch> parts = parts_of(minibatch);
        step.run(parts);
        ++report_.updates;
        report_.micro_batches += static_cast<int64_t>(parts.size());
        for (const MicroBatch& part : parts) {
          report_.tokens += part.tokens_BS.numel();
          report_.most_tokens = std::max(report_.most_tokens, part.tokens_BS.numel());
        }
      }
    }
    step.free_gradients();
    report_.loss = loss_.over(report_.updates);
    report_.clip_fraction = clip_fraction_.over(report_.updates);
    report_.approx_kl = approx_kl_.over(report_.updates);
    report_.entropy = entropy_.over(report_.updates);
    return report_;
  }

 private:
  // For every token of the experience; 0 outside the minibatch.
  Tensor weights_of(const Indices& minibatch) const {
    const Tensor chosen_B = on_device(minibatch, experience_.mask_BR);
    const Tensor mask = experience_.mask_BR.index_select(0, chosen_B);
    return experience_.zeros_BR().index_copy_(
        0, chosen_B, token_weights(spec_.loss_agg_mode, mask, spec_.response_length));
  }

  std::vector<MicroBatch> parts_of(const Indices& minibatch) {
    const Tensor weights_BR = weights_of(minibatch);
    std::vector<MicroBatch> parts;
    for (const PassRows& rows :
         passes_of(experience_, minibatch, spec_.max_tokens_per_micro_batch)) {
      const auto loss = [this, rows, weights_T = of_rows(weights_BR, rows)](
                            Transformer& model, const Tensor& hidden_1ND) {
        const PassLoss made = loss_of_(model, hidden_1ND, rows, weights_T);
        loss_.add(made.reported);
        clip_fraction_.add(made.clip_fraction);
        approx_kl_.add(made.approx_kl);
        entropy_.add(made.entropy);
        return made.loss;
      };
      parts.push_back({.tokens_BS = rows.tokens_1S, .loss = loss, .pass = rows.pass});
    }
    return parts;
  }

  const Experience& experience_;
  const PpoSpec& spec_;
  LossOf loss_of_;
  TrainingReport report_;
  Sum loss_, clip_fraction_, approx_kl_, entropy_;
};

}  // namespace

TrainingReport train_critic(const Experience& experience, Step& critic, const PpoSpec& spec,
                            uint64_t seed) {
  const LossOf loss_of = [&](Transformer& model, const Tensor& hidden_1ND, const PassRows& rows,
                             const Tensor& weights_T) {
    const ValueLoss value =
        clipped_value_loss(values_of(model, hidden_1ND), of_rows(experience.values_BR, rows),
                           of_rows(experience.returns_BR, rows), weights_T, spec.value_clip);
    return PassLoss{.loss = spec.value_coef * value.loss,
                    .reported = value.loss,
                    .clip_fraction = value.clip_fraction};
  };
  return Training(experience, spec, loss_of).run(critic, seed);
}

TrainingReport train_actor(const Experience& experience, Step& actor, const PpoSpec& spec,
                           uint64_t seed) {
  const bool kl_in_loss = spec.algorithm == PpoAlgorithm::kGrpo && spec.kl_coef != 0;
  const LossOf loss_of = [&](Transformer& model, const Tensor& hidden_1ND, const PassRows& rows,
                             const Tensor& weights_T) {
    const TokenLogProbs now =
        log_probs_of(model, hidden_1ND, rows, log_prob_options(spec, /*entropy=*/true));
    const PolicyLoss policy =
        clipped_policy_loss(now.log_probs_T, of_rows(experience.log_probs_BR, rows),
                            of_rows(experience.advantages_BR, rows), weights_T, spec.clip);
    const Tensor minus_entropy = entropy_loss(now.entropy_T, weights_T);
    Tensor loss = policy.loss;
    if (spec.entropy_coef != 0) loss = loss + spec.entropy_coef * minus_entropy;
    if (kl_in_loss) {
      loss = loss + kl_loss(now.log_probs_T, of_rows(experience.reference_log_probs_BR, rows),
                            weights_T, spec.kl_coef);
    }
    return PassLoss{.loss = loss,
                    .reported = policy.loss,
                    .clip_fraction = policy.clip_fraction,
                    .approx_kl = policy.approx_kl,
                    .entropy = -minus_entropy};
  };
  return Training(experience, spec, loss_of).run(actor, seed);
}

}  // namespace headroom
