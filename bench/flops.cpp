#include "bench/flops.h"

#include <algorithm>
#include <vector>

namespace headroom {
namespace {

struct Card {
  std::string_view name;
  double half;  // bf16 and fp16 with FP32 accumulation
  double tf32;
  double fp32;  // no matrix units: the FP32 pipelines
};

constexpr double kTera = 1e12;

// NVIDIA's data sheets, dense (not the sparse figures), TFLOP/s. Names exactly as the driver says
// them: a laptop or cut-down card of a similar name has another peak.
const std::vector<Card>& cards() {
  static const std::vector<Card> kCards = {
      {"NVIDIA H200", 989.4, 494.7, 66.9},       {"NVIDIA H100 80GB HBM3", 989.4, 494.7, 66.9},
      {"NVIDIA H100 PCIe", 756, 378, 51},        {"NVIDIA A100-SXM4-40GB", 312, 156, 19.5},
      {"NVIDIA A100-SXM4-80GB", 312, 156, 19.5}, {"NVIDIA A100-PCIE-40GB", 312, 156, 19.5},
      {"NVIDIA A100 80GB PCIe", 312, 156, 19.5}, {"NVIDIA GeForce RTX 4090", 165.2, 82.6, 82.6},
  };
  return kCards;
}

}  // namespace

StepFlops step_flops(const ModelConfig& config, int64_t batch_size, int64_t context_length,
                     Mode mode) {
  const auto d = static_cast<double>(config.d_model);
  const auto layers = static_cast<double>(config.layers);
  const auto context = static_cast<double>(context_length);
  const double tokens = static_cast<double>(batch_size) * context;
  const double block = 2 * d * d + 2 * d * static_cast<double>(config.kv_dim()) +
                       3 * d * static_cast<double>(config.d_ff);
  const double weights = layers * block + static_cast<double>(config.vocab_size) * d;
  const double per_use = has_backward(mode) ? 6 : 2;
  return {.matmul = per_use * weights * tokens,
          .attention = per_use * layers * d * context * tokens};
}

std::optional<double> peak_flops(std::string_view device_name, Precision precision) {
  const auto card = std::find_if(cards().begin(), cards().end(),
                                 [&](const Card& known) { return known.name == device_name; });
  if (card == cards().end()) return std::nullopt;
  if (uses_autocast(precision)) return card->half * kTera;
  return (precision == Precision::kTf32 ? card->tf32 : card->fp32) * kTera;
}

}  // namespace headroom
