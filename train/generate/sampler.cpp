#include "train/generate/sampler.h"

#include <ATen/CPUGeneratorImpl.h>

#include <limits>

namespace headroom {
namespace {

using torch::Tensor;

constexpr double kNever = -std::numeric_limits<double>::infinity();

at::Generator make_generator(uint64_t seed, torch::Device device) {
  at::Generator generator = device.is_cuda() ? at::globalContext().defaultGenerator(device).clone()
                                             : at::detail::createCPUGenerator(seed);
  generator.set_current_seed(seed);
  return generator;
}

void keep_highest(Tensor& logits_BV, int64_t k) {
  const Tensor lowest_B1 = std::get<0>(logits_BV.topk(k, -1)).narrow(-1, k - 1, 1);
  logits_BV.masked_fill_(logits_BV < lowest_B1, kNever);
}

}  // namespace

Sampler::Sampler(const Sampling& sampling, uint64_t seed, torch::Device device)
    : sampling_(sampling) {
  if (sampling_.temperature > 0) generator_ = make_generator(seed, device);
}

Tensor Sampler::next(const Tensor& logits_BV) {
  if (sampling_.temperature == 0) return logits_BV.argmax(-1);
  Tensor scaled_BV = logits_BV.to(torch::kFloat32) / sampling_.temperature;
  const bool cuts = sampling_.top_k > 0 && sampling_.top_k < scaled_BV.size(-1);
  if (cuts) keep_highest(scaled_BV, sampling_.top_k);
  Tensor probabilities_BV = torch::softmax(scaled_BV, -1);
  scaled_BV = Tensor();
  Tensor order_BV;
  if (sampling_.top_p < 1) {
    std::tie(probabilities_BV, order_BV) = probabilities_BV.sort(-1, /*descending=*/true);
    // Drops tokens that begin beyond the sum: the token that reaches it stays.
    const Tensor before_BV = probabilities_BV.cumsum(-1) - probabilities_BV;
    probabilities_BV.masked_fill_(before_BV >= sampling_.top_p, 0);
  }
  const Tensor arrivals_BV = torch::empty_like(probabilities_BV).exponential_(1, generator_);
  const Tensor chosen_B = (probabilities_BV / arrivals_BV).argmax(-1);
  if (!order_BV.defined()) return chosen_B;
  return order_BV.gather(-1, chosen_B.unsqueeze(-1)).squeeze(-1);
}

}  // namespace headroom
