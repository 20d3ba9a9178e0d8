#include "profiling/theory/rehearsal/ppo/losses.h"

#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

ShapeTensor weighted_sum(const ShapeTensor& of_tokens, const ShapeTensor& weights) {
  const ShapeTensor filled = masked_fill(of_tokens, comparison(weights));
  return sum(mul(filled, weights));
}

// The larger of two losses is reported.
ShapeTensor share_that_is_clipped(const ShapeTensor& clipped, const ShapeTensor& weights) {
  const ShapeTensor larger = to(comparison(clipped), weights.dtype);
  return weighted_sum(larger, weights);
}

}  // namespace

ShapeTensor token_weights(LossAggregation mode, const ShapeTensor& mask_BR) {
  const ShapeTensor mask = to(mask_BR, DType::kFp32);
  switch (mode) {
    case LossAggregation::kTokenMean: {
      const ShapeTensor count = clamp(sum(mask));
      return div(mask, count);
    }
    case LossAggregation::kSequenceMean: {
      const ShapeTensor counts = clamp(sum_last(mask));
      return div_scalar(div(mask, counts));
    }
    case LossAggregation::kSequenceSumNormed:
      break;
  }
  return div_scalar(mask);
}

ShapeLoss clipped_policy_loss(const ShapeTensor& log_probs, const ShapeTensor& old_log_probs,
                              const ShapeTensor& advantages, const ShapeTensor& weights) {
  ShapeTensor log_ratio = sub(log_probs, old_log_probs);
  log_ratio = masked_fill(log_ratio, comparison(weights));
  const ShapeTensor ratio = exp(log_ratio);
  const ShapeTensor as_it_is = mul(neg(advantages), ratio);
  ShapeTensor clipped = clamp(ratio);
  clipped = mul(neg(advantages), clipped);
  ShapeLoss made;
  made.loss = weighted_sum(maximum(as_it_is, clipped), weights);
  const GradMode no_grad(*weights.run, false);
  made.clip_fraction = share_that_is_clipped(clipped, weights);
  made.approx_kl = weighted_sum(div_scalar(pow(log_ratio)), weights);
  return made;
}

ShapeLoss clipped_value_loss(const ShapeTensor& values, const ShapeTensor& old_values,
                             const ShapeTensor& returns, const ShapeTensor& weights, bool clips) {
  const ShapeTensor as_it_is = pow(sub(values, returns));
  ShapeLoss made;
  if (!clips) {
    made.loss = mul_scalar(weighted_sum(as_it_is, weights));
    made.clip_fraction = empty(*values.run, {}, DType::kFp32);
    return made;
  }
  ShapeTensor near;
  {
    const ShapeTensor least = add_scalar(old_values);
    const ShapeTensor most = add_scalar(old_values);
    near = maximum(minimum(values, most), least);
  }
  const ShapeTensor clipped = pow(sub(near, returns));
  made.loss = mul_scalar(weighted_sum(maximum(as_it_is, clipped), weights));
  const GradMode no_grad(*weights.run, false);
  made.clip_fraction = share_that_is_clipped(clipped, weights);
  return made;
}

ShapeTensor entropy_loss(const ShapeTensor& entropy, const ShapeTensor& weights) {
  return neg(weighted_sum(entropy, weights));
}

ShapeTensor kl_loss(const ShapeTensor& log_probs, const ShapeTensor& reference_log_probs,
                    const ShapeTensor& weights) {
  const ShapeTensor reference = [&] {
    const ShapeTensor outside = comparison(weights);
    return empty_like(reference_log_probs, reference_log_probs.dtype);  // where()
  }();
  return mul_scalar(weighted_sum(kl_estimate(KlEstimator::kK3, log_probs, reference), weights));
}

}  // namespace headroom
