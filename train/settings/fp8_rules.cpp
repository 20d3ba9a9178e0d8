#include "train/settings/fp8_rules.h"

#include "cards/cards.h"
#include "text/quantity.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

constexpr int64_t kMultiple = 16;  // elements: cuBLAS needs rows of whole 16 bytes

void check_width(const std::string& flag, int64_t size, const std::string& example) {
  if (size % kMultiple == 0) return;
  throw UsageError(flag, std::to_string(size),
                   "is no multiple of 16, which the products of --precision fp8 need", example);
}

}  // namespace

void check_fp8_capability(const std::string& capability, const std::string& card) {
  if (std::stod(capability) >= 8.9) return;
  throw UsageError("--precision", "fp8",
                   "needs a card of compute capability 8.9; that of " + card + " is " + capability +
                       "; allowed there: fp32, tf32, bf16, fp16",
                   "--device virtual:h100-80gb --precision fp8");
}

void check_fp8(const RunSpec& spec) {
  if (spec.precision != Precision::kFp8) return;
  if (is_virtual(spec)) {
    const Card& card = find_card(spec.device.card);
    check_fp8_capability(card.compute_capability, card.name);
  }
  const ModelConfig config = model_config(spec);
  check_width("--d-model", config.d_model, "--d-model 768 --heads 12");
  check_width("--d-ff", config.d_ff, "--d-ff 3072");
  if (config.head_size != 0 && config.q_dim() % kMultiple != 0) {
    throw UsageError("--head-dim", std::to_string(config.head_size),
                     "makes queries of " + std::to_string(config.q_dim()) +
                         " numbers, no multiple of 16, which the products of --precision fp8 need",
                     "--d-model 768 --heads 12 --head-dim 64");
  }
  if (config.kv_dim() % kMultiple != 0) {
    throw UsageError("--kv-heads", std::to_string(config.kv_heads),
                     "makes keys of " + std::to_string(config.kv_dim()) +
                         " numbers, no multiple of 16, which the products of --precision fp8 need",
                     "--d-model 768 --heads 12 --kv-heads 4");
  }
  const int64_t sequences = sequences_of_a_pass(spec);
  const int64_t tokens = sequences * spec.context_length;
  if (!has_backward(spec.profile_type) || tokens % kMultiple == 0) return;
  throw UsageError(
      "--context-length", std::to_string(spec.context_length),
      "times " + std::to_string(sequences) + " sequences is " + std::to_string(tokens) +
          " tokens, no multiple of 16, which the products of --precision fp8 need",
      "--context-length " + std::to_string((spec.context_length / kMultiple + 1) * kMultiple));
}

}  // namespace headroom
