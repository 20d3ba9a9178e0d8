#include "model/loss.h"

namespace headroom {
namespace {

using torch::Tensor;

Tensor log_softmax(const Tensor& logits_BSV) {
  const Tensor shifted_BSV = logits_BSV - std::get<0>(logits_BSV.max(-1, /*keepdim=*/true));
  const Tensor sum_BS1 = torch::exp(shifted_BSV).sum(-1, /*keepdim=*/true);
  return shifted_BSV - torch::log(sum_BS1);
}

}  // namespace

Tensor cross_entropy(const Tensor& logits_BSV, const Tensor& targets_BS) {
  const Tensor negative_log_probabilities_BSV = -log_softmax(logits_BSV);
  return negative_log_probabilities_BSV.gather(-1, targets_BS.unsqueeze(-1)).mean();
}

}  // namespace headroom
