#include "train/ppo/setup/spec.h"

#include <cmath>
#include <string>

#include "text/quantity.h"

namespace headroom {

const EnumWords<PpoAlgorithm>& words_of(PpoAlgorithm) {
  static const EnumWords<PpoAlgorithm> kWords = {
      {PpoAlgorithm::kPpo, "ppo", "a critic and GAE, the KL penalty in the rewards"},
      {PpoAlgorithm::kGrpo, "grpo", "no critic: the baseline is a group's mean, KL in the loss"}};
  return kWords;
}

const EnumWords<KlEstimator>& words_of(KlEstimator) {
  static const EnumWords<KlEstimator> kWords = {
      {KlEstimator::kK1, "k1", "-log r, r = p_reference / p_policy: unbiased"},
      {KlEstimator::kK2, "k2", "(log r)^2 / 2: biased, of less variance"},
      {KlEstimator::kK3, "k3", "r - 1 - log r: unbiased, never negative"}};
  return kWords;
}

const EnumWords<LossAggregation>& words_of(LossAggregation) {
  static const EnumWords<LossAggregation> kWords = {
      {LossAggregation::kTokenMean, "token-mean", "the mean over all tokens"},
      {LossAggregation::kSequenceMean, "seq-mean-token-mean", "the mean of sequences' means"},
      {LossAggregation::kSequenceSumNormed, "seq-mean-token-sum-norm",
       "the sum over sequences x the longest response allowed"}};
  return kWords;
}

namespace {

std::string shown(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

void check_at_least(const std::string& flag, int64_t value, int64_t least,
                    const std::string& example) {
  if (value >= least) return;
  throw UsageError(flag, std::to_string(value),
                   "is below " + std::to_string(least) + ", the minimum", flag + " " + example);
}

void check_range(const std::string& flag, double value, bool allowed, const std::string& range,
                 const std::string& example) {
  if (allowed) return;
  throw UsageError(flag, shown(value), "is not in " + range, flag + " " + example);
}

void check_share(const std::string& flag, double value, const std::string& example) {
  check_range(flag, value, value >= 0 && value <= 1, "[0, 1]", example);
}

void check_weight(const std::string& flag, double value, const std::string& example) {
  check_range(flag, value, value >= 0 && std::isfinite(value), "[0, infinity)", example);
}

void check_counts(const PpoSpec& spec) {
  check_at_least("--prompts", spec.prompts, 1, "8");
  check_at_least("--response-len", spec.response_length, 1, "128");
  check_at_least("--group-size", spec.group_size, 1, "4");
  check_at_least("--epochs", spec.epochs, 1, "4");
  check_at_least("--minibatches", spec.minibatches, 1, "2");
  check_at_least("--max-tokens-per-micro-batch", spec.max_tokens_per_micro_batch, 0, "4096");
  check_at_least("--chunk-tokens", spec.chunk_tokens, 1, "512");
  check_at_least("--end-token", spec.end_token, -1, "2");
}

}  // namespace

void validate(const PpoSpec& spec) {
  check_counts(spec);
  if (spec.minibatches > spec.sequences()) {
    throw UsageError("--minibatches", std::to_string(spec.minibatches),
                     "is more than the " + std::to_string(spec.sequences()) +
                         " sequences of an iteration; allowed: 1 to " +
                         std::to_string(spec.sequences()),
                     "--minibatches 1");
  }
  if (spec.algorithm == PpoAlgorithm::kGrpo && spec.group_size < 2) {
    throw UsageError("--group-size", std::to_string(spec.group_size),
                     "gives grpo no baseline, as grpo compares the responses of a group; "
                     "allowed there: 2 or more",
                     "--group-size 4");
  }
  check_range("--temperature", spec.temperature, spec.temperature > 0, "(0, infinity)", "1");
  check_weight("--kl-coef", spec.kl_coef, "0.05");
  check_share("--gamma", spec.gamma, "1");
  check_share("--lambda", spec.lambda, "0.95");
  check_range("--clip", spec.clip, spec.clip > 0 && spec.clip < 1, "(0, 1)", "0.2");
  check_weight("--value-clip", spec.value_clip, "0.2");
  check_weight("--value-coef", spec.value_coef, "0.1");
  check_weight("--entropy-coef", spec.entropy_coef, "0.01");
}

}  // namespace headroom
