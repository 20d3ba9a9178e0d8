#include "profiling/flops.h"

#include "cards/cards.h"
#include "model/parameter_table.h"

namespace headroom {

StepFlops step_flops(const ModelConfig& config, int64_t batch_size, int64_t context_length,
                     Mode mode) {
  const auto width = static_cast<double>(config.q_dim());
  const auto layers = static_cast<double>(config.layers);
  const auto context = static_cast<double>(context_length);
  const double tokens = static_cast<double>(batch_size) * context;
  const double weights =
      parameter_sum(config, [](const ParameterEntry& entry) { return entry.in_product; });
  const double per_use = has_backward(mode) ? 6 : 2;
  return {.matmul = per_use * weights * tokens,
          .attention = per_use * layers * width * context * tokens};
}

std::optional<double> peak_flops(std::string_view device_name, Precision precision) {
  const Card* card = find_card_of_driver(device_name);
  if (card == nullptr) return std::nullopt;
  const PeakRates& peak = card->peak_tflops;
  const auto in_flops = [](std::optional<double> tflops) -> std::optional<double> {
    constexpr double kTera = 1e12;
    return tflops ? std::optional<double>(*tflops * kTera) : std::nullopt;
  };
  switch (precision) {
    case Precision::kBf16:
      return in_flops(peak.bf16);
    case Precision::kFp16:
      return in_flops(peak.fp16);
    case Precision::kFp8:
      return in_flops(peak.fp8);
    case Precision::kTf32:
      return in_flops(peak.tf32);
    case Precision::kFp32:
      break;
  }
  return in_flops(peak.fp32);
}

}  // namespace headroom
