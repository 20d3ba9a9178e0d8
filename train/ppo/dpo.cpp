#include "train/ppo/dpo.h"

#include <vector>

#include "train/ppo/losses.h"
#include "train/ppo/passes.h"
#include "train/real_device.h"

namespace headroom {

using torch::Tensor;

namespace {

// Tokens of each pair.
Indices pair_lengths(const Experience& pairs) {
  const Indices lengths = pairs.lengths();
  Indices both(lengths.size() / 2);
  for (size_t i = 0; i < both.size(); ++i) both[i] = lengths[2 * i] + lengths[2 * i + 1];
  return both;
}

std::vector<PassRows> passes_of_pairs(const Experience& pairs, const Indices& chosen,
                                      int64_t max_tokens) {
  const Indices of_all = pair_lengths(pairs);
  Indices lengths;
  for (const int64_t pair : chosen) lengths.push_back(of_all[static_cast<size_t>(pair)]);
  std::vector<PassRows> passes;
  for (const Indices& pack : pack_sequences(lengths, max_tokens)) {
    Indices sequences;
    for (const int64_t index : pack) {
      const int64_t pair = chosen[static_cast<size_t>(index)];
      sequences.push_back(2 * pair);
      sequences.push_back(2 * pair + 1);
    }
    passes.push_back(rows_of(pairs, sequences));
  }
  return passes;
}

// Of each sequence of a pass, (pairs, 2).
Tensor sums_of_pairs(Transformer& model, const Tensor& hidden_1ND, const PassRows& rows,
                     const DpoSpec& spec) {
  const TokenLogProbs made =
      log_probs_of(model, hidden_1ND, rows, {.chunk_tokens = spec.chunk_tokens, .entropy = false});
  return sums_of_sequences(made.log_probs_T, rows).view({-1, 2});
}

// On the device: nothing waits for it before the end.
struct Sums {
  Tensor loss, accuracy, margin;
  static void add(Tensor& sum, const Tensor& more) { sum = sum.defined() ? sum + more : more; }
  void add_part(const DpoLoss& made, double share) {
    const Tensor margins = made.chosen_rewards - made.rejected_rewards;
    add(loss, share * made.loss.detach());
    add(margin, share * margins.mean());
    add(accuracy, share * (margins > 0).to(margins.scalar_type()).mean());
  }
};

// One pass of a minibatch of so many pairs. The reference's side is computed here.
LossPart part_of(const PassRows& rows, Step& reference, const DpoSpec& spec, size_t pairs,
                 Sums* sums) {
  const OfHidden sums_of = [&spec, rows](Transformer& model, const Tensor& hidden_1ND) {
    return sums_of_pairs(model, hidden_1ND, rows, spec);
  };
  const Tensor constant = reference.infer(rows.tokens_1S, sums_of, rows.pass.get());
  const double share = static_cast<double>(constant.size(0)) / static_cast<double>(pairs);
  const OfHidden loss = [=, &spec](Transformer& model, const Tensor& hidden_1ND) {
    const Tensor policy = sums_of(model, hidden_1ND);
    const DpoLoss made = dpo_loss(
        {policy.select(1, 0), policy.select(1, 1), constant.select(1, 0), constant.select(1, 1)},
        spec.beta);
    sums->add_part(made, share);
    return share * made.loss;
  };
  return {rows.tokens_1S, loss, rows.pass};
}

}  // namespace

DpoReport train_dpo(const Experience& pairs, Step& actor, Step& reference, const DpoSpec& spec,
                    uint64_t seed) {
  TORCH_CHECK(pairs.sequences() % 2 == 0, pairs.sequences(), " sequences are no pairs");
  DpoReport report;
  Sums sums;
  for (int64_t epoch = 0; epoch < spec.epochs; ++epoch) {
    for (const Indices& minibatch :
         shuffled_minibatches(pairs.sequences() / 2, spec.minibatches, seed, epoch)) {
      std::vector<LossPart> parts;
      for (const PassRows& rows :
           passes_of_pairs(pairs, minibatch, spec.max_tokens_per_micro_batch)) {
        parts.push_back(part_of(rows, reference, spec, minibatch.size(), &sums));
      }
      actor.run(parts);
      ++report.updates;
      report.micro_batches += static_cast<int64_t>(parts.size());
    }
  }
  actor.free_gradients();
  const auto mean = [&](const Tensor& sum) {
    return value_of(sum) / static_cast<double>(report.updates);
  };
  report.loss = mean(sums.loss);
  report.accuracy = mean(sums.accuracy);
  report.margin = mean(sums.margin);
  return report;
}

}  // namespace headroom
