#include "train/techniques/micro_batches.h"

namespace headroom {

using torch::Tensor;

Batch part_of(const Batch& batch, int64_t index, int64_t count) {
  if (count == 1) return batch;
  const int64_t sequences = batch.tokens_BS.size(0) / count;
  const auto part = [&](const Tensor& whole) {
    return whole.narrow(0, index * sequences, sequences);
  };
  return {part(batch.tokens_BS), part(batch.targets_BS)};
}

void BatchLoss::add(const Tensor& loss, MemoryClaims* claims) {
  if (parts_ == 1) {
    mean_ = loss.detach();
    return;
  }
  const torch::NoGradGuard no_grad;
  if (!mean_.defined()) {
    mean_ = torch::zeros({}, torch::dtype(torch::kFloat32).device(loss.device()));
    claim(claims, Category::kOther, mean_, "mean loss");
  }
  mean_.add_(loss, 1.0 / static_cast<double>(parts_));
}

}  // namespace headroom
